"""Slices: the energy along one column, by leaf sets, against evaluating the energy of every code."""

import numpy as np
import pytest

from energyboost.kernels.arrays import IMPOSSIBLE, LANES
from energyboost.kernels.slices import slices
from energyboost.model import leafindex
from energyboost.model.energy import Energy
from tests import naive
from tests.ensembles import (
    CASES,
    MIXED,
    WIDE_LEVELS,
    possible_rows,
    random_baseline,
    random_energy,
    random_rows,
    random_tree,
)

# Energies are sums of some ten values of size one, jumps between which are summed in single precision.
SINGLE_PRECISION = 1e-5


def difference(got, expected):
    """The largest difference of log-probabilities, of codes that can occur."""
    possible = expected > -1e29
    assert np.array_equal(possible, got > -1e29)
    got, expected = (f[possible] - np.logaddexp.reduce(f[possible]) for f in (got, expected))
    return np.abs(got - expected).max()


def slice_of(energy, row, column, first_tree=0, last_tree=None):
    """A slice as the kernel gives it, on top of the baseline; trees before ``first_tree`` left out."""
    columns, last_tree = energy.columns, energy.n_trees if last_tree is None else last_tree
    padded = columns.start[column + 1] - columns.start[column]
    out = np.zeros((1, padded + LANES), np.float32)
    slices(energy.index.width)(columns, energy.index.arrays, first_tree, last_tree, row[None], column, out)
    energies = out[0, : columns.size[column]].astype(float)
    if columns.ordered[column]:
        energies = np.cumsum(energies)
    return energies + energy.baseline.energy[columns.start[column] :][: columns.size[column]]


@pytest.mark.parametrize("case", CASES)
def test_a_slice_is_the_energy_of_every_code(rng, case):
    domain, n_leaves, max_leaves, width = CASES[case]
    energy = random_energy(rng, domain, 6, n_leaves, max_leaves=max_leaves)
    assert (energy.index.width, energy.index.n_levels) == (width, 0)
    for row in random_rows(rng, domain, 5):
        for column in range(domain.n_columns):
            got = slice_of(energy, row, column)
            assert difference(got, naive.slice_of(energy, row, column)) < SINGLE_PRECISION


@pytest.mark.parametrize(
    ("domain", "n_leaves", "shape", "n_levels", "width"),
    [
        (MIXED, 600, "bushy", 1, 2),
        (MIXED, 340, "chain", 1, 8),
        (MIXED, 600, "bushy", 2, 1),
        (MIXED, 340, "chain", 2, 8),
        (WIDE_LEVELS, 600, "bushy", 1, 2),
        (WIDE_LEVELS, 340, "chain", 1, 8),
        (WIDE_LEVELS, 600, "bushy", 2, 1),
        (WIDE_LEVELS, 4500, "bushy", 2, 4),
    ],
    ids=str,
)
def test_a_slice_of_large_trees_is_the_energy_of_every_code(rng, monkeypatch, domain, n_leaves, shape, n_levels, width):
    monkeypatch.setattr(leafindex, "LARGEST", (512, 4096) if n_levels == 1 else (128, 512))
    monkeypatch.setattr(leafindex, "LARGEST_FLAT", 0)
    energy = random_energy(rng, domain, 2, n_leaves, max_leaves=max(600, n_leaves), shape=shape)
    assert (energy.index.width, energy.index.n_levels) == (width, n_levels)
    assert max(tree.n_leaves for tree in energy.trees) > 0.9 * n_leaves
    for row in random_rows(rng, domain, 2):
        for column in range(domain.n_columns):
            got = slice_of(energy, row, column)
            assert difference(got, naive.slice_of(energy, row, column)) < SINGLE_PRECISION


def test_small_trees_among_large_ones_keep_their_place(rng):
    energy = Energy(MIXED, random_baseline(rng, MIXED), 6, 2500)
    for n_leaves, shape in ((1, "bushy"), (700, "bushy"), (2, "chain"), (330, "chain"), (65, "bushy"), (1, "bushy")):
        energy.add(random_tree(rng, MIXED, n_leaves, shape, 0.5))
    for row in random_rows(rng, MIXED, 2):
        for column in range(MIXED.n_columns):
            got = slice_of(energy, row, column)
            assert difference(got, naive.slice_of(energy, row, column)) < SINGLE_PRECISION


@pytest.mark.parametrize("max_leaves", [64, 2500])
def test_a_range_of_trees_gives_the_slice_of_these_trees_alone(rng, max_leaves):
    energy = random_energy(rng, MIXED, 5, 40, max_leaves=max_leaves)
    some = Energy(MIXED, energy.baseline, 2, max_leaves)
    for tree in energy.trees[2:4]:
        some.add(tree)
    for row in random_rows(rng, MIXED, 5):
        for column in range(MIXED.n_columns):
            got = slice_of(energy, row, column, 2, 4)
            assert difference(got, naive.slice_of(some, row, column)) < SINGLE_PRECISION


def test_without_trees_a_slice_is_the_baseline(rng):
    energy = random_energy(rng, MIXED, 1, 40, impossible=0.3)
    row = possible_rows(rng, energy, 1)[0]
    for column in range(MIXED.n_columns):
        assert difference(slice_of(energy, row, column, 0, 0), naive.slice_of(energy, row, column, 0)) < 1e-13


def test_codes_that_cannot_occur_stay_impossible(rng):
    energy = random_energy(rng, MIXED, 6, 40, max_leaves=64, impossible=0.3)
    for row in possible_rows(rng, energy, 5):
        for column in range(MIXED.n_columns):
            got, expected = slice_of(energy, row, column), naive.slice_of(energy, row, column)
            assert difference(got, expected) < SINGLE_PRECISION
            assert np.array_equal(got < 0.9 * IMPOSSIBLE, energy.baseline.column(column) == 0)


def test_the_kernel_adds_to_what_is_there(rng):
    energy = random_energy(rng, MIXED, 4, 40, max_leaves=64)
    kernel, columns, rows = slices(energy.index.width), energy.columns, random_rows(rng, MIXED, 3)
    for column in (1, 2):
        shape = (len(rows), columns.start[column + 1] - columns.start[column] + LANES)
        once, twice = np.zeros(shape, np.float32), np.zeros(shape, np.float32)
        kernel(columns, energy.index.arrays, 0, 4, rows, column, once)
        for _ in range(2):
            kernel(columns, energy.index.arrays, 0, 4, rows, column, twice)
        size = columns.size[column]
        np.testing.assert_allclose(twice[:, :size], 2 * once[:, :size], rtol=0, atol=SINGLE_PRECISION)
