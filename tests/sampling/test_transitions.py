"""What chance does: the steps of chains against exact transition matrices.

The model of a test is fixed; the seed decides the draws alone. Every test has a control: the same test of the same
draws against what a wrong sampler would do must fail.
"""

from dataclasses import replace

import numpy as np
import pytest

from energyboost.fitting.config import BoostingConfig
from energyboost.fitting.grow import Rows, grow_tree
from energyboost.kernels.grow import Reference
from energyboost.model.energy import Energy
from energyboost.sampling import gibbs
from energyboost.sampling.gibbs import sweep
from energyboost.sampling.moves import Moves, Pair
from tests import exact
from tests.chance import contradicted, rows_contradicted
from tests.ensembles import Domain, random_baseline, random_energy

DOMAIN = Domain((2, 3, 1, 2), (True, False, True, False))
N_CELLS = 12
CONFIG, SEED = BoostingConfig(max_leaves=16, max_ratio=100.0), np.random.SeedSequence(0)


@pytest.fixture(scope="module", params=[8, 2500], ids=["leaves", "treelets"])
def energy(request):
    """A model whose columns depend on each other."""
    return random_energy(np.random.default_rng(1), DOMAIN, 4, 8, max_leaves=request.param, scale=1)


def counts_of(codes):
    """How many rows are in each cell."""
    return np.bincount(exact.cell_numbers(DOMAIN, codes), minlength=N_CELLS)


def started_everywhere(n_each):
    """Chains that start from every cell, and the cells they start from."""
    return np.repeat(exact.cells(DOMAIN), n_each, axis=0)


def transitions(energy, seed, n_each=20_000, **how):
    """How often a sweep leads from one cell to another."""
    codes = started_everywhere(n_each)
    sweep(energy, codes, 1, np.random.SeedSequence(seed), **how)
    return [counts_of(part) for part in np.split(codes, N_CELLS)]


@pytest.mark.parametrize("temperature", [0.7, 1.0, 3.0])
def test_a_sweep_leaves_the_distribution_of_the_model_as_it_is(energy, temperature):
    # of the enumeration, with no sampler: what the tests below rest on
    probability = exact.probabilities(energy, temperature=temperature)
    matrix = exact.sweep_matrix(DOMAIN, probability)
    np.testing.assert_allclose(matrix.sum(axis=1), 1, rtol=1e-12)
    np.testing.assert_allclose(probability @ matrix, probability, rtol=1e-12)


def test_sweeps_lead_from_cell_to_cell_as_often_as_the_exact_matrix_says(energy, seed):
    counts, probability = transitions(energy, seed), exact.probabilities(energy)
    assert not rows_contradicted(counts, exact.sweep_matrix(DOMAIN, probability))
    # the controls: columns in the opposite order, another temperature, a column left out
    assert rows_contradicted(counts, exact.sweep_matrix(DOMAIN, probability, [3, 2, 1, 0]))
    warm = exact.probabilities(energy, temperature=1.2)
    assert rows_contradicted(counts, exact.sweep_matrix(DOMAIN, warm))
    assert rows_contradicted(counts, exact.sweep_matrix(DOMAIN, probability, [0, 1]))


def test_a_temperature_divides_energies(energy, seed):
    counts = transitions(energy, seed, temperature=2.0)
    warm = exact.sweep_matrix(DOMAIN, exact.probabilities(energy, temperature=2.0))
    assert not rows_contradicted(counts, warm)
    assert rows_contradicted(counts, exact.sweep_matrix(DOMAIN, exact.probabilities(energy)))


def test_the_first_trees_can_be_sampled_alone(energy, seed):
    counts = transitions(energy, seed, n_trees=2)
    assert not rows_contradicted(counts, exact.sweep_matrix(DOMAIN, exact.probabilities(energy, 2)))
    assert rows_contradicted(counts, exact.sweep_matrix(DOMAIN, exact.probabilities(energy)))


def test_held_columns_condition_the_others(energy, seed):
    free = [1, 3]
    codes = started_everywhere(20_000)
    sweep(energy, codes, 1, np.random.SeedSequence(seed), free=np.tile(np.isin(range(4), free), (len(codes), 1)))
    counts = [counts_of(part) for part in np.split(codes, N_CELLS)]
    probability = exact.probabilities(energy)
    assert not rows_contradicted(counts, exact.sweep_matrix(DOMAIN, probability, free))
    assert rows_contradicted(counts, exact.sweep_matrix(DOMAIN, probability))


def test_reflected_sweeps_lead_from_cell_to_cell_as_often_as_the_exact_matrix_says(seed):
    domain = Domain((4, 2, 3), (True, False, True))
    energy = random_energy(np.random.default_rng(2), domain, 4, 8, scale=1)
    probability = exact.probabilities(energy)
    drawn, reflected = exact.sweep_matrix(domain, probability), exact.reflected_sweep_matrix(domain, probability)
    np.testing.assert_allclose(probability @ reflected, probability, rtol=1e-12)
    np.testing.assert_allclose(reflected.sum(axis=1), 1, rtol=1e-12)
    moves = Moves(reflecting=True)
    assert moves.reflections(4).tolist() == [False, True, False, True]
    codes = np.repeat(exact.cells(domain), 20_000, axis=0)
    sweep(energy, codes, 2, np.random.SeedSequence(seed), moves=moves)
    counts = [np.bincount(exact.cell_numbers(domain, part), minlength=24) for part in np.split(codes, 24)]
    assert not rows_contradicted(counts, drawn @ reflected)
    # the controls: two sweeps drawn anew, and the columns reflected in the opposite order
    assert rows_contradicted(counts, drawn @ drawn)
    backwards = np.eye(24)
    for column, site in ((2, exact.reflected_site_matrix), (1, exact.site_matrix), (0, exact.reflected_site_matrix)):
        backwards = backwards @ site(domain, probability, column)
    assert rows_contradicted(counts, drawn @ backwards)


def test_of_an_outer_column_with_many_codes_each_draw_looks_at_some(seed):
    domain = Domain((70, 3), (True, False))
    energy = random_energy(np.random.default_rng(3), domain, 4, 12, scale=1)
    moves = replace(Moves.of(domain, [Pair((0, 1), 0.9)]), cells=(1,), cells_per_tree=(0,), reflecting=False)
    assert moves.pairs == ((0, 1),)
    probability = exact.probabilities(energy)
    single = exact.sweep_matrix(domain, probability)
    pair = sum(exact.pair_matrix(domain, probability, 0, 1, stride) for stride in (2, 3)) / 2
    np.testing.assert_allclose(probability @ pair, probability, rtol=1e-12)
    codes = np.repeat(exact.cells(domain)[:1], 400_000, axis=0)
    # after the sweep, column 0 stands where it is drawn given level 0, and the pair starts from there
    sweep(energy, codes, 1, np.random.SeedSequence(seed), moves=moves)
    counts = np.bincount(exact.cell_numbers(domain, codes), minlength=210)
    assert not contradicted(counts, (single @ pair)[0])
    # the controls: one stride alone, and all codes
    assert contradicted(counts, single[0])
    assert contradicted(counts, (single @ exact.pair_matrix(domain, probability, 0, 1))[0])


@pytest.mark.parametrize("pairs", [[(0, 1)], [(1, 3)], [(0, 3)], [(0, 1), (3, 1)]], ids=str)
def test_pairs_after_a_sweep_are_drawn_from_their_joint_conditional(energy, seed, pairs):
    moves = Moves.of(DOMAIN, [Pair(pair, 0.9) for pair in pairs])
    assert (moves.rates(4, 4) == 1).all()
    counts = transitions(energy, seed, moves=moves)
    probability = exact.probabilities(energy)
    single = expected = exact.sweep_matrix(DOMAIN, probability)
    for a, b in moves.pairs:
        expected = expected @ exact.pair_matrix(DOMAIN, probability, a, b)
    np.testing.assert_allclose(probability @ expected, probability, rtol=1e-12)
    assert not rows_contradicted(counts, expected)
    # the controls: no pairs, and independent rows
    assert rows_contradicted(counts, single)
    assert rows_contradicted(counts, np.tile(probability, (N_CELLS, 1)))


def test_pairs_cross_where_single_moves_cannot(seed):
    """Two columns that determine each other: a sweep never leaves a level, a pair move draws any."""
    domain = Domain((3, 3), (False, True))
    base = random_baseline(np.random.default_rng(0), domain)
    energy = Energy(domain, base, 1, 16)
    codes = np.repeat(exact.cells(domain)[[0, 4, 8]], 20_000, axis=0)
    tree = grow_tree(energy.columns, Rows(codes), Reference(codes[:0], base.probability), CONFIG, SEED).tree
    values = np.full(tree.n_leaves, -60.0)
    values[np.unique(tree.leaves(codes))] = 0
    energy.add(tree.with_values(values))
    rows = np.repeat(exact.cells(domain)[:1], 30_000, axis=0)
    sweep(energy, rows, 20, np.random.SeedSequence(seed))
    assert (rows == 0).all()
    sweep(energy, rows, 1, np.random.SeedSequence(seed), moves=Moves.of(domain, [Pair((0, 1), 0.9)]))
    counts = np.bincount(exact.cell_numbers(domain, rows), minlength=9)
    assert not contradicted(counts, exact.probabilities(energy))
    assert contradicted(counts, np.full(9, 1 / 9))


@pytest.mark.parametrize("uniforms_at_once", [1, 1 << 20])
def test_kept_states_follow_each_other_as_sweeps_do(energy, seed, monkeypatch, uniforms_at_once):
    # sweeps are cut into stretches, each with numbers of its own: states must go on across the cuts
    monkeypatch.setattr(gibbs, "UNIFORMS_AT_ONCE", uniforms_at_once)
    codes = np.repeat(exact.cells(DOMAIN)[:1], 100_000, axis=0)
    kept = sweep(energy, codes, 4, np.random.SeedSequence(seed), n_kept=2, block_size=1000)
    assert np.array_equal(kept[:, -1], codes)
    matrix = exact.sweep_matrix(DOMAIN, exact.probabilities(energy))
    third = np.linalg.matrix_power(matrix, 3)[0]
    assert not contradicted(counts_of(kept[:, 0]), third, 2)
    pairs = exact.cell_numbers(DOMAIN, kept[:, 0]) * N_CELLS + exact.cell_numbers(DOMAIN, kept[:, 1])
    pairs = np.bincount(pairs, minlength=N_CELLS**2)
    assert not contradicted(pairs, (third[:, None] * matrix).ravel(), 2)
    # the control: states that know nothing of each other
    assert contradicted(pairs, np.outer(third, third @ matrix).ravel(), 2)


def test_long_chains_draw_from_the_model(energy, seed):
    codes = np.repeat(exact.cells(DOMAIN)[-1:], 60_000, axis=0)
    sweep(energy, codes, 30, np.random.SeedSequence(seed))
    probability = exact.probabilities(energy)
    last = np.linalg.matrix_power(exact.sweep_matrix(DOMAIN, probability), 30)[-1]
    assert np.abs(last - probability).max() < 1e-9  # what is left of the start cannot be seen
    counts = counts_of(codes)
    assert not contradicted(counts, probability)
    # the controls: the baseline, a model without its last tree, and one a little warmer
    assert contradicted(counts, exact.probabilities(energy, 0))
    assert contradicted(counts, exact.probabilities(energy, 3))
    assert contradicted(counts, exact.probabilities(energy, temperature=1.1))
