"""Mixtures of density trees: everything against enumeration of every cell."""

import numpy as np
import pytest

from energyboost.fitting.forest import ForestConfig, fit_forest
from energyboost.fitting.grow import Rows
from tests import exact
from tests.chance import contradicted
from tests.ensembles import Domain, dependent_rows

DOMAIN = Domain((5, 3, 4, 2), (True, False, True, False))
N_CELLS = 120
FORESTS = {
    "kl": {"criterion": "kl"},
    "ise": {"criterion": "ise"},
    "random": {"splitter": "random"},
    "subsampled, whole table": {"feature_fraction": 0.5, "bootstrap": False, "min_samples_leaf": 3},
    "one tree": {"n_trees": 1, "bootstrap": False},
}


@pytest.fixture(scope="module", params=FORESTS)
def forest(request):
    codes = dependent_rows(np.random.default_rng(0), DOMAIN, 400)
    config = ForestConfig(**{"n_trees": 7, "max_leaves": 24} | FORESTS[request.param])
    return fit_forest(Rows(codes), DOMAIN, config, seed=0)


@pytest.fixture(scope="module")
def probability(forest):
    return np.exp(forest.score(exact.cells(DOMAIN)))


def test_the_density_is_normalised(forest, probability):
    assert probability.sum() == pytest.approx(1, abs=1e-12)
    for share in forest.shares:
        assert share.sum() == pytest.approx(1)


def test_a_tree_has_the_share_of_rows_in_each_leaf(probability):
    codes = dependent_rows(np.random.default_rng(0), DOMAIN, 400)
    one = fit_forest(Rows(codes), DOMAIN, ForestConfig(n_trees=1, max_leaves=24, bootstrap=False), seed=0)
    every = exact.cells(DOMAIN)
    leaf, leaf_of_rows = one.trees[0].leaves(every), one.trees[0].leaves(codes)
    for number in range(one.trees[0].n_leaves):
        inside = leaf == number
        expected = (leaf_of_rows == number).mean() / inside.sum()
        np.testing.assert_allclose(np.exp(one.score(every))[inside], expected, rtol=1e-12)


@pytest.mark.parametrize("n_known", [0, 1, 2, 3])
def test_conditionals_and_marginals_are_ratios_of_exact_sums(forest, probability, n_known):
    rng = np.random.default_rng(n_known)
    codes = exact.cells(DOMAIN)[rng.integers(0, N_CELLS, 12)]
    p = probability.reshape(DOMAIN.sizes)
    for column in range(4):
        others = [j for j in range(4) if j != column]
        known = np.zeros(codes.shape, bool)
        for row in known:
            row[rng.permutation(others)[:n_known]] = True
        found = forest.conditional(codes, known, column)
        marginal = forest.log_marginal(codes, known)
        for i, row in enumerate(codes):
            index = tuple(int(row[j]) if known[i, j] else slice(None) for j in range(4))
            rest = p[index]
            axes = tuple(a for a, j in enumerate(j for j in range(4) if not known[i, j]) if j != column)
            along = rest.sum(axis=axes)
            total = along.sum()
            expected = along / total if total > 0 else np.full(len(along), 1 / len(along))
            np.testing.assert_allclose(found[i], expected, atol=1e-12)
            assert np.exp(marginal[i]) == pytest.approx(total, abs=1e-12)


def test_rows_are_drawn_from_the_density(forest, probability, seed):
    codes = forest.sample(60_000, np.random.default_rng(seed))
    counts = np.bincount(exact.cell_numbers(DOMAIN, codes), minlength=N_CELLS)
    assert not contradicted(counts, probability)
    shifted = np.roll(probability.reshape(DOMAIN.sizes), 1, axis=0).ravel()
    assert contradicted(counts, shifted)


def test_rows_are_drawn_under_conditions(forest, probability, seed):
    log_weights = np.zeros(forest.columns.start[-1])
    factor = np.ones(DOMAIN.sizes)
    rng = np.random.default_rng(7)
    for j, size in enumerate(DOMAIN.sizes):
        part = rng.choice([0.0, 0.5, 1.0], size, p=[0.3, 0.2, 0.5])
        part[0] = 1.0
        with np.errstate(divide="ignore"):
            log_weights[forest.columns.start[j] : forest.columns.start[j] + size] = np.log(part)
        factor = factor * part.reshape([-1 if i == j else 1 for i in range(4)])
    expected = probability * factor.ravel()
    codes = forest.sample(60_000, np.random.default_rng(seed), log_weights)
    counts = np.bincount(exact.cell_numbers(DOMAIN, codes), minlength=N_CELLS)
    assert not contradicted(counts, expected / expected.sum())
    assert contradicted(counts, probability)


def test_rows_are_completed_from_the_conditional(forest, probability, seed):
    start = exact.cells(DOMAIN)[probability.argmax()]
    free = np.tile([True, False, True, False], (60_000, 1))
    codes = forest.complete(np.tile(start, (60_000, 1)), free, np.random.default_rng(seed))
    assert (codes[:, [1, 3]] == start[[1, 3]]).all()
    expected = np.zeros(DOMAIN.sizes)
    expected[:, start[1], :, start[3]] = probability.reshape(DOMAIN.sizes)[:, start[1], :, start[3]]
    counts = np.bincount(exact.cell_numbers(DOMAIN, codes), minlength=N_CELLS)
    assert not contradicted(counts, expected.ravel() / expected.sum())
    independent = np.zeros(DOMAIN.sizes)
    p = probability.reshape(DOMAIN.sizes)
    independent[:, start[1], :, start[3]] = np.outer(p.sum(axis=(1, 2, 3)), p.sum(axis=(0, 1, 3)))
    assert contradicted(counts, independent.ravel() / independent.sum())


def test_threads_change_no_byte():
    codes = dependent_rows(np.random.default_rng(0), DOMAIN, 400)
    one, two = (fit_forest(Rows(codes), DOMAIN, ForestConfig(n_trees=9, max_leaves=12), 3, n_jobs) for n_jobs in (1, 3))
    for a, b in zip(one.trees, two.trees, strict=True):
        assert a.leaf_value.tobytes() == b.leaf_value.tobytes()
        assert a.column.tobytes() == b.column.tobytes()
