"""Gibbs sweeps against their plain twin: same uniforms in, same codes out."""

import numpy as np
import pytest

from energyboost.kernels.sweeps import sweeps
from energyboost.model.baseline import Baseline
from energyboost.model.energy import Energy, columns_of
from tests import naive
from tests.ensembles import (
    CASES,
    MIXED,
    ORDERED,
    UNORDERED,
    WIDE_LEVELS,
    Domain,
    possible_rows,
    random_energy,
    random_rows,
)

# Rounding in single precision may decide a draw only so close to a boundary of the cumulative probabilities.
NEAR = 1e-5


def run(energy, rows, uniforms, *, free=None, reflected=False, temperature=1.0, n_trees=None, n_kept=None):
    """The kept states of the kernel, and the rows it ends with."""
    n_chains, n_sweeps = uniforms.shape[:2]
    codes = rows.copy()
    out = np.empty((n_chains, n_sweeps if n_kept is None else n_kept, codes.shape[1]), codes.dtype)
    moving = np.zeros(codes.shape, bool)
    moving[:, slice(None) if free is None else free] = True
    n_trees = energy.n_trees if n_trees is None else n_trees
    how = np.full(n_sweeps, reflected), np.empty((0, 2), np.int64), np.empty((n_sweeps, 0), bool)
    sets, cold = energy.index.arrays, np.float32(1 / temperature)
    kernel = sweeps(energy.index.width)
    kernel(energy.columns, sets, n_trees, energy.base, cold, moving, *how, codes, uniforms, out)
    return out, codes


def uniforms_for(rng, rows, n_sweeps):
    return rng.random((len(rows), n_sweeps, rows.shape[1]), dtype=np.float32)


def assert_twins_agree(energy, rows, uniforms, free=None, **how):
    """Every draw is that of the plain sweep, save few where the uniform number is next to a boundary."""
    kept, last = run(energy, rows, uniforms, free=free, **how)
    assert np.array_equal(kept[:, -1], last)
    free = range(rows.shape[1]) if free is None else free
    n_draws = n_other = 0
    for c, row in enumerate(rows):
        for s in range(uniforms.shape[1]):
            _, drawn = naive.sweep(energy, row, free, uniforms[c, s], told=kept[c, s], **how)
            for j, (code, distance) in zip(free, drawn, strict=True):
                n_draws += 1
                if kept[c, s, j] != code:
                    n_other += 1
                    assert distance < NEAR, f"chain {c}, sweep {s}, column {j}: {kept[c, s, j]}, not {code}"
            row = kept[c, s]
    # at most 300 boundaries per draw, each with a neighbourhood of 2 * NEAR: 0.6 % of the draws, if all were wrong
    assert n_other <= 1 + 0.01 * n_draws


@pytest.mark.parametrize("case", CASES)
def test_sweeps_draw_what_plain_sweeps_draw(rng, case):
    domain, n_leaves, max_leaves, _ = CASES[case]
    energy = random_energy(rng, domain, 4, n_leaves, max_leaves=max_leaves)
    rows = random_rows(rng, domain, 3)
    assert_twins_agree(energy, rows, uniforms_for(rng, rows, 3))


@pytest.mark.parametrize("shape", ["bushy", "chain"])
def test_sweeps_over_large_trees_draw_what_plain_sweeps_draw(rng, shape):
    energy = random_energy(rng, WIDE_LEVELS, 2, 340, max_leaves=2500, shape=shape)
    rows = random_rows(rng, WIDE_LEVELS, 2)
    assert_twins_agree(energy, rows, uniforms_for(rng, rows, 2))


def test_the_first_trees_alone_can_be_swept(rng):
    energy = random_energy(rng, MIXED, 4, 40, max_leaves=64)
    rows = random_rows(rng, MIXED, 3)
    for n_trees in (0, 1, 3):
        assert_twins_agree(energy, rows, uniforms_for(rng, rows, 2), n_trees=n_trees)


@pytest.mark.parametrize("temperature", [0.1, 0.5, 3.0, 100.0])
def test_sweeps_at_a_temperature_draw_from_energies_divided_by_it(rng, temperature):
    energy = random_energy(rng, ORDERED, 4, 40, max_leaves=64, impossible=0.2)
    rows = possible_rows(rng, energy, 5)
    assert_twins_agree(energy, rows, uniforms_for(rng, rows, 5), temperature=temperature)


@pytest.mark.parametrize("max_leaves", [64, 2500])
@pytest.mark.parametrize("free", [[2], [0, 3], [1, 2, 3], []], ids=str)
def test_only_free_columns_move(rng, free, max_leaves):
    energy = random_energy(rng, MIXED, 4, 40, max_leaves=max_leaves)
    rows = random_rows(rng, MIXED, 3)
    uniforms = uniforms_for(rng, rows, 3)
    assert_twins_agree(energy, rows, uniforms, free=free)
    held = [j for j in range(MIXED.n_columns) if j not in free]
    kept, last = run(energy, rows, uniforms, free=free)
    assert (kept[:, :, held] == rows[:, None, held]).all()
    assert np.array_equal(last[:, held], rows[:, held])


def test_codes_that_cannot_occur_are_never_drawn(rng):
    for domain in (ORDERED, UNORDERED, MIXED):
        energy = random_energy(rng, domain, 4, 40, max_leaves=64, impossible=0.5)
        rows = random_rows(rng, domain, 50)
        uniforms = uniforms_for(rng, rows, 20)
        # the ends of what a generator gives: rounding must not lead past the last code, nor to the first
        uniforms[:10], uniforms[10:20] = 0, np.nextafter(np.float32(1), np.float32(0))
        kept, _ = run(energy, rows, uniforms)
        for j in range(domain.n_columns):
            assert (energy.baseline.column(j)[kept[..., j]] > 0).all()


def test_the_ends_of_the_uniform_numbers_give_the_first_and_the_last_possible_code(rng):
    energy = random_energy(rng, ORDERED, 1, 1, max_leaves=64, impossible=0.5)
    rows = random_rows(rng, ORDERED, 2)
    uniforms = uniforms_for(rng, rows, 1)
    uniforms[0], uniforms[1] = 0, 1 - 2.0**-24
    kept, _ = run(energy, rows, uniforms)
    for j in range(3):
        possible = np.flatnonzero(energy.baseline.column(j))
        assert (kept[0, 0, j], kept[1, 0, j]) == (possible[0], possible[-1])


def test_rounding_never_leads_far_from_the_end(rng):
    # The largest uniform number may lie beyond the rounded sum of all weights: the last codes are meant.
    domain = Domain((300, 300, 300), (True, False, True))
    energy = random_energy(rng, domain, 4, 40, max_leaves=64)
    rows = random_rows(rng, domain, 300)
    uniforms = np.full((300, 1, 3), np.nextafter(np.float32(1), np.float32(0)))
    for j in range(3):
        kept, _ = run(energy, rows, uniforms, free=[j])
        probability = energy.conditional(rows, j)
        above = 1 - np.cumsum(probability, axis=1)[np.arange(300), kept[:, 0, j]]
        assert above.max() < NEAR


def test_chains_do_not_know_of_each_other(rng):
    energy = random_energy(rng, MIXED, 4, 40, max_leaves=64)
    rows = random_rows(rng, MIXED, 6)
    uniforms = uniforms_for(rng, rows, 4)
    together, _ = run(energy, rows, uniforms)
    for c in range(len(rows)):
        alone, _ = run(energy, rows[c : c + 1], uniforms[c : c + 1])
        assert np.array_equal(alone[0], together[c])


def test_the_states_kept_are_the_last_ones(rng):
    energy = random_energy(rng, MIXED, 4, 40, max_leaves=64)
    rows = random_rows(rng, MIXED, 3)
    uniforms = uniforms_for(rng, rows, 7)
    every, last = run(energy, rows, uniforms)
    for n_kept in (0, 1, 3):
        kept, end = run(energy, rows, uniforms, n_kept=n_kept)
        assert np.array_equal(kept, every[:, 7 - n_kept :])
        assert np.array_equal(end, last)


def test_sweeps_can_be_cut_anywhere(rng):
    energy = random_energy(rng, MIXED, 4, 40, max_leaves=64)
    rows = random_rows(rng, MIXED, 3)
    uniforms = uniforms_for(rng, rows, 7)
    _, whole = run(energy, rows, uniforms)
    _, part = run(energy, rows, np.ascontiguousarray(uniforms[:, :3]))
    _, end = run(energy, part, np.ascontiguousarray(uniforms[:, 3:]))
    assert np.array_equal(whole, end)


def test_256_codes_fit_a_byte(rng):
    domain = Domain((256, 256, 2), (True, False, True))
    assert domain.code_dtype == np.uint8
    energy = random_energy(rng, domain, 4, 40, max_leaves=64)
    rows = random_rows(rng, domain, 4)
    rows[:2, :2] = 255
    assert_twins_agree(energy, rows, uniforms_for(rng, rows, 2))


def test_the_exponential_function_is_good_to_single_precision():
    domain = Domain((2,), (True,))
    columns = columns_of(domain)
    for share in np.linspace(0.01, 0.99, 99):
        probability = np.zeros(columns.start[-1])
        probability[:2] = share, 1 - share
        energy = Energy(domain, Baseline(columns, probability), 1, 64)
        uniforms = (share + np.linspace(-1e-5, 1e-5, 201)).astype(np.float32)
        kept, _ = run(energy, np.zeros((201, 1), np.uint8), uniforms[:, None, None])
        assert np.abs(uniforms[kept[:, 0, 0].argmax()] - share) < 1e-6


@pytest.mark.parametrize("case", ["mixed", "4 words"])
def test_a_chain_does_what_it_does_alone(rng, case):
    domain, n_leaves, max_leaves, _ = CASES[case]
    energy = random_energy(rng, domain, 5, n_leaves, max_leaves=max_leaves)
    rows = random_rows(rng, domain, 7)
    uniforms = rng.random((7, 4, domain.n_columns), dtype=np.float32)
    together, _ = run(energy, rows, uniforms)
    for c in range(7):
        assert np.array_equal(run(energy, rows[c : c + 1], uniforms[c : c + 1])[0], together[c : c + 1])


@pytest.mark.parametrize("case", ["ordered", "mixed", "many levels", "single column", "4 words"])
def test_reflected_sweeps_draw_what_plain_ones_draw(rng, case):
    domain, n_leaves, max_leaves, _ = CASES[case]
    energy = random_energy(rng, domain, 4, n_leaves, max_leaves=max_leaves, impossible=0.2)
    rows = possible_rows(rng, energy, 5)
    assert_twins_agree(energy, rows, uniforms_for(rng, rows, 4), reflected=True)


def test_a_reflection_undoes_itself(rng):
    """The middle of a code's share goes to where it comes from, if it is told where in the new share it is."""
    domain = Domain((200,), (True,))
    energy = random_energy(rng, domain, 4, 40, max_leaves=64)
    rows = random_rows(rng, domain, 100)
    share = energy.conditional(rows, 0)[0]
    below = np.concatenate([[0], np.cumsum(share)])
    half = np.full((100, 1, 1), 0.5, np.float32)
    there = run(energy, rows, half, reflected=True)[1]
    place = 1 - (below[rows[:, 0]] + share[rows[:, 0]] / 2)
    back = ((place - below[there[:, 0]]) / share[there[:, 0]]).astype(np.float32)
    assert np.array_equal(run(energy, there, back[:, None, None], reflected=True)[1], rows)
    assert (there != rows).mean() > 0.9


def test_chains_may_hold_different_columns(rng):
    energy = random_energy(rng, MIXED, 4, 40, max_leaves=64)
    rows = random_rows(rng, MIXED, 40)
    free = rng.random(rows.shape) < 0.5
    uniforms = uniforms_for(rng, rows, 3)
    together, _ = run(energy, rows, uniforms)
    codes, out = rows.copy(), np.empty_like(together)
    how = np.zeros(3, bool), np.empty((0, 2), np.int64), np.empty((3, 0), bool)
    kernel = sweeps(energy.index.width)
    kernel(energy.columns, energy.index.arrays, 4, energy.base, np.float32(1), free, *how, codes, uniforms, out)
    for c in range(40):
        alone, _ = run(energy, rows[c : c + 1], uniforms[c : c + 1], free=np.flatnonzero(free[c]))
        assert np.array_equal(alone[0], out[c])
