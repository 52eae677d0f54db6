"""Planes against plain sums over leaf boxes."""

import numpy as np
import pytest

from energyboost.model import leafindex
from tests import naive
from tests.ensembles import MIXED, ORDERED, UNORDERED, WIDE_LEVELS, random_energy, random_rows


@pytest.mark.parametrize(
    "domain", [ORDERED, UNORDERED, MIXED, WIDE_LEVELS], ids=["ordered", "unordered", "mixed", "wide"]
)
@pytest.mark.parametrize("n_leaves", [1, 40])
def test_planes_hold_the_energy_of_every_combination(rng, domain, n_leaves):
    energy = random_energy(rng, domain, 4, n_leaves, max_leaves=64)
    rows = random_rows(rng, domain, 3)
    for outer in range(domain.n_columns):
        for inner in range(domain.n_columns):
            if outer == inner:
                continue
            weight, top = energy.planes(rows, outer, inner)
            assert weight.shape == (3, domain.sizes[outer], domain.sizes[inner])
            for i, row in enumerate(rows):
                expected = naive.pair_probabilities(energy, row, outer, inner)
                np.testing.assert_allclose(weight[i] / weight[i].sum(), expected, rtol=2e-4, atol=1e-9)
                here = row[outer], row[inner]
                others = [j for j in range(domain.n_columns) if j not in (outer, inner)]
                base = sum(energy.baseline.energy[energy.columns.start[j] + row[j]] for j in others)
                assert np.log(weight[i][here]) + top[i] + base == pytest.approx(naive.energy_of(energy, row), abs=2e-4)


def test_planes_of_the_first_trees_and_of_large_trees(rng, monkeypatch):
    monkeypatch.setattr(leafindex, "LARGEST", (40, 80))
    monkeypatch.setattr(leafindex, "LARGEST_FLAT", 0)
    energy = random_energy(rng, MIXED, 3, 300, max_leaves=300)
    rows = random_rows(rng, MIXED, 2)
    for n_trees in (0, 1, 3):
        weight, _ = energy.planes(rows, 1, 3, n_trees)
        for i, row in enumerate(rows):
            expected = naive.pair_probabilities(energy, row, 1, 3, n_trees=n_trees)
            np.testing.assert_allclose(weight[i] / weight[i].sum(), expected, rtol=2e-4, atol=1e-9)
