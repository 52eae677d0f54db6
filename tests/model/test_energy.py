"""The energy of rows, and the distribution of one column given the others."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from energyboost.model.energy import Energy
from tests import exact, naive
from tests.ensembles import (
    CASES,
    MIXED,
    Domain,
    possible_rows,
    random_baseline,
    random_energy,
    random_rows,
    random_tree,
)

# Log-probabilities of slices are sums of some ten values of size one in single precision.
SINGLE_PRECISION = 1e-5
TINY = Domain((3, 4, 1, 2), (True, False, True, False))


def expected_conditional(energy, row, column, n_trees=None):
    return naive.softmax(naive.slice_of(energy, row, column, n_trees))


@pytest.mark.parametrize("case", CASES)
def test_scores_are_the_energies_of_rows(rng, case):
    domain, n_leaves, max_leaves, _ = CASES[case]
    energy = random_energy(rng, domain, 4, n_leaves, max_leaves=max_leaves)
    rows = random_rows(rng, domain, 20)
    for n_trees in (None, 0, 3):
        expected = [naive.energy_of(energy, row, n_trees) for row in rows]
        np.testing.assert_allclose(energy.score(rows, n_trees), expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("case", CASES)
def test_conditionals_are_those_of_enumeration(rng, case):
    domain, n_leaves, max_leaves, _ = CASES[case]
    energy = random_energy(rng, domain, 4, n_leaves, max_leaves=max_leaves, impossible=0.2)
    rows = possible_rows(rng, energy, 3)
    for column, size in enumerate(domain.sizes):
        got = energy.conditional(rows, column)
        assert got.shape == (3, size)
        expected = [expected_conditional(energy, row, column) for row in rows]
        np.testing.assert_allclose(got, expected, rtol=SINGLE_PRECISION)


def test_the_index_of_leaves_is_as_wide_as_the_trees_are(rng):
    """And no wider, whatever is allowed; it grows with the trees, and answers stay what they were."""
    energy = Energy(MIXED, random_baseline(rng, MIXED), 2, 8)
    rows, widths = random_rows(rng, MIXED, 3), []
    for n_leaves in (5, 60, 3, 200, 200):
        energy.add(random_tree(rng, MIXED, n_leaves))
        widths.append((energy.index.width, energy.index.max_trees))
        for column in range(MIXED.n_columns):
            expected = [expected_conditional(energy, row, column) for row in rows]
            np.testing.assert_allclose(energy.conditional(rows, column), expected, rtol=SINGLE_PRECISION)
    assert widths == [(1, 2), (1, 2), (1, 4), (4, 4), (4, 8)]


@pytest.mark.parametrize("max_leaves", [64, 2500])
def test_conditionals_of_a_joint_density_are_ratios_of_its_cells(rng, max_leaves):
    energy = random_energy(rng, TINY, 5, 10, max_leaves=max_leaves)
    probability = exact.probabilities(energy)
    cells = exact.cells(TINY)
    for column in range(TINY.n_columns):
        expected = [exact.conditional(TINY, probability, row, column) for row in cells]
        np.testing.assert_allclose(energy.conditional(cells, column), expected, rtol=SINGLE_PRECISION)


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=30)
def test_conditionals_differ_by_the_differences_of_scores(seed):
    rng = np.random.default_rng(seed)
    energy = random_energy(rng, MIXED, 4, 20, max_leaves=64)
    row = random_rows(rng, MIXED, 1)
    for column, size in enumerate(MIXED.sizes):
        rows = np.repeat(row, size, axis=0)
        rows[:, column] = np.arange(size)
        score = energy.score(rows)
        got = np.log(energy.conditional(row, column)[0])
        np.testing.assert_allclose(got - got[0], score - score[0], rtol=0, atol=2 * SINGLE_PRECISION)


@given(st.integers(0, 2**32 - 1), st.sampled_from(sorted(CASES)))
@settings(max_examples=30)
def test_conditional_probabilities_sum_to_one(seed, case):
    domain, n_leaves, max_leaves, _ = CASES[case]
    rng = np.random.default_rng(seed)
    energy = random_energy(rng, domain, 2, n_leaves, max_leaves=max_leaves, scale=10, impossible=0.3)
    rows = possible_rows(rng, energy, 4)
    for column in range(domain.n_columns):
        probability = energy.conditional(rows, column)
        assert (probability >= 0).all()
        assert (probability[:, energy.baseline.column(column) == 0] == 0).all()
        np.testing.assert_allclose(probability.sum(axis=1), 1, rtol=1e-12)


@pytest.mark.parametrize("max_leaves", [64, 2500])
def test_a_stage_is_the_conditional_of_its_first_trees(rng, max_leaves):
    energy = random_energy(rng, MIXED, 7, 40, max_leaves=max_leaves, impossible=0.2)
    rows = possible_rows(rng, energy, 5)
    for column in range(MIXED.n_columns):
        stages = [0, 1, 3, 3, 7]
        for stage, got in zip(stages, energy.staged_conditional(rows, column, stages), strict=True):
            expected = [expected_conditional(energy, row, column, stage) for row in rows]
            np.testing.assert_allclose(got, expected, rtol=SINGLE_PRECISION)
            alone = energy.conditional(rows, column, stage)
            np.testing.assert_allclose(got, alone, rtol=SINGLE_PRECISION)


def test_stages_can_be_kept_while_later_ones_are_computed(rng):
    energy = random_energy(rng, MIXED, 3, 40, max_leaves=64)
    rows = random_rows(rng, MIXED, 5)
    first, second = energy.staged_conditional(rows, 2, [1, 3])
    assert np.array_equal(first, energy.conditional(rows, 2, 1))
    assert not np.array_equal(first, second)


def test_a_conditional_does_not_depend_on_the_cell_that_it_is_about(rng):
    energy = random_energy(rng, MIXED, 4, 40, max_leaves=64)
    rows = random_rows(rng, MIXED, 5)
    for column, size in enumerate(MIXED.sizes):
        other = rows.copy()
        other[:, column] = rng.integers(0, size, len(rows))
        assert np.array_equal(energy.conditional(rows, column), energy.conditional(other, column))


def test_rows_do_not_know_of_each_other_nor_of_threads(rng):
    energy = random_energy(rng, MIXED, 4, 40, max_leaves=64)
    # several blocks of both
    rows = random_rows(rng, MIXED, 9000)
    score, conditional = energy.score(rows), energy.conditional(rows, 3)
    for n_jobs in (2, 5):
        assert energy.score(rows, n_jobs=n_jobs).tobytes() == score.tobytes()
        assert energy.conditional(rows, 3, n_jobs=n_jobs).tobytes() == conditional.tobytes()
    some = rng.integers(0, len(rows), 50)
    assert np.array_equal(energy.score(rows[some]), score[some])
    assert np.array_equal(energy.conditional(rows[some], 3), conditional[some])


def test_no_rows_have_no_scores(rng):
    energy = random_energy(rng, MIXED, 2, 10, max_leaves=64)
    assert energy.score(random_rows(rng, MIXED, 0)).shape == (0,)
    assert energy.conditional(random_rows(rng, MIXED, 0), 1).shape == (0, MIXED.sizes[1])


def test_stages_can_be_reduced_block_by_block(rng):
    energy = random_energy(rng, MIXED, 3, 40, max_leaves=64)
    rows = random_rows(rng, MIXED, 1100)  # more than are computed at once
    whole = list(energy.staged_conditional(rows, 2, [1, 3]))
    for n_jobs in (1, 2):
        modes = energy.staged_conditional(rows, 2, [1, 3], reduce=lambda p: p.argmax(axis=1), n_jobs=n_jobs)
        for probability, mode in zip(whole, modes, strict=True):
            assert np.array_equal(mode, probability.argmax(axis=1))


def test_a_score_sees_trees_added_after_another_score(rng):
    energy = Energy(TINY, random_baseline(rng, TINY), 2, 5)
    rows = random_rows(rng, TINY, 9)
    assert energy.log_z == [0.0]
    assert exact.log_z(energy) == pytest.approx(0, abs=1e-12)
    for n_trees in (1, 2):
        energy.score(rows)
        energy.add(random_tree(rng, TINY, 5))
        assert energy.n_trees == n_trees
        expected = [naive.energy_of(energy, row) for row in rows]
        np.testing.assert_allclose(energy.score(rows), expected, rtol=0, atol=1e-12)
