"""Rounds of boosting."""

import numpy as np
import pytest

from energyboost.fitting.boosting import boost, leaf_values, start
from energyboost.fitting.config import BoostingConfig
from energyboost.fitting.grow import Rows
from tests import naive
from tests.ensembles import MIXED, Domain, dependent_rows, train

DOMAIN = Domain((5, 17, 9, 3), (True, False, True, False))


def bytes_of(state):
    """Everything that training leaves behind."""
    trees = [getattr(tree, field) for tree in state.energy.trees for field in tree.__slots__]
    return [a.tobytes() for a in (*trees, state.pool.codes, state.pool.chains)], state.energy.log_z


@pytest.mark.parametrize("refill", ["persistent", "restart"])
def test_the_number_of_threads_changes_no_byte(rng, refill):
    codes = dependent_rows(rng, MIXED, 500)
    results = []
    for n_jobs in (1, 2, 5):
        state, infos = train(codes, MIXED, n_jobs=n_jobs, refill=refill, burn_in=3, feature_fraction=0.5)
        results.append((bytes_of(state), infos))
    assert results[0] == results[1] == results[2]


def test_another_seed_gives_another_model(rng):
    codes = dependent_rows(rng, DOMAIN, 500)
    one, other = (bytes_of(train(codes, DOMAIN, seed=seed)[0]) for seed in (0, 1))
    assert one != other


def test_training_can_go_on_from_any_round(rng):
    codes = dependent_rows(rng, DOMAIN, 500)
    config = BoostingConfig(n_trees=6, max_leaves=8, pool_size=1000)
    through, _ = train(codes, DOMAIN, n_trees=6)
    rounds = boost(start(Rows(codes), DOMAIN, config), Rows(codes), config, 0)
    for _ in range(3):
        stopped, info = next(rounds)
    assert info.round == 3
    *_, (resumed, info) = boost(stopped, Rows(codes), config, 0)
    assert info.round == 6
    assert bytes_of(resumed) == bytes_of(through)


def test_what_a_round_reports_is_what_it_did(rng):
    codes = dependent_rows(rng, DOMAIN, 500)
    config = BoostingConfig(n_trees=5, max_leaves=8, pool_size=2000, learning_rate=0.2)
    first = start(Rows(codes), DOMAIN, config)
    assert (first.energy.n_trees, len(first.pool.codes)) == (0, 0)
    pool, log_z = None, 0.0
    for state, info in boost(first, Rows(codes), config, 0):
        tree = state.energy.trees[-1]
        assert info.round == state.energy.n_trees
        assert info.n_leaves == tree.n_leaves <= 8
        p = np.bincount(tree.leaves(codes), minlength=tree.n_leaves) / len(codes)
        if info.round == 1:
            assert info.acceptance == 0
        else:
            q = np.bincount(tree.leaves(pool), minlength=tree.n_leaves) / len(pool)
            np.testing.assert_allclose(tree.leaf_value, info.step * (p / q - 1), rtol=1e-12)
            assert info.step == pytest.approx(0.2 * naive.line_search(p / q - 1, p, q))
            new = tree.leaf_value[tree.leaves(state.pool.new)]
            assert info.log_z - log_z == pytest.approx(-np.log(np.mean(np.exp(-new))), abs=1e-13)
            assert info.acceptance == pytest.approx(1 - len(new) / 2000, abs=1e-15)
        assert info.gain == pytest.approx(p @ tree.leaf_value - (info.log_z - log_z), abs=1e-13)
        assert info.log_z == state.energy.log_z[-1]
        assert info.log_z_error == state.energy.log_z_error[-1]
        assert (info.log_z_error > 0) == (info.round > 1)
        pool, log_z = state.pool.codes, info.log_z
    assert len(state.energy.log_z) == len(state.energy.log_z_error) == 6


@pytest.mark.parametrize("refill", ["persistent", "restart"])
def test_the_pool_keeps_its_size_through_training(rng, refill):
    codes = dependent_rows(rng, DOMAIN, 500)
    config = BoostingConfig(n_trees=5, max_leaves=8, pool_size=777, n_chains=5, burn_in=2, refill=refill)
    for state, _ in boost(start(Rows(codes), DOMAIN, config), Rows(codes), config, 0):
        assert (state.pool.codes.shape, state.pool.chains.shape) == ((777, 4), (5, 4))
        assert (state.pool.codes < np.array(DOMAIN.sizes)).all()


CHANGES = {
    "learning_rate": 0.3,
    "max_leaves": 5,
    "max_ratio": 1.3,
    "min_samples_leaf": 30,
    "feature_fraction": 0.5,
    "growth": "breadth_first",
    "line_search": False,
    "uniform_mix": 0.5,
    "pool_size": 500,
    "refresh": 0.6,
    "n_chains": 5,
    "refill": "restart",
}


@pytest.mark.parametrize("name", CHANGES)
def test_every_parameter_changes_the_model(name):
    codes = dependent_rows(np.random.default_rng(0), DOMAIN, 500)
    assert bytes_of(train(codes, DOMAIN, **{name: CHANGES[name]})[0]) != bytes_of(train(codes, DOMAIN)[0])


def test_burn_in_changes_restarted_chains_only():
    codes = dependent_rows(np.random.default_rng(0), DOMAIN, 500)
    for refill, alike in (("restart", False), ("persistent", True)):
        one, other = (bytes_of(train(codes, DOMAIN, refill=refill, burn_in=n)[0]) for n in (1, 9))
        assert (one == other) == alike


def test_a_pool_wholly_refreshed_keeps_no_row(rng):
    _, infos = train(dependent_rows(rng, DOMAIN, 500), DOMAIN, refresh=1.0)
    assert [info.acceptance for info in infos] == [0] * 5


def test_the_pool_follows_the_rows_unless_told(rng):
    state, _ = train(dependent_rows(rng, DOMAIN, 20_000), DOMAIN, pool_size="auto", n_trees=2)
    assert len(state.pool.codes) == 30_000


def test_log_z_rises_where_no_pool_row_is_new(rng):
    """By the rows that the tree was fitted on, then: not by nothing."""
    codes = dependent_rows(rng, DOMAIN, 500)
    state, infos = train(codes, DOMAIN, refresh=0.0, pool_size=16, n_trees=40)
    rises = np.diff(state.energy.log_z)
    kept_all = [info.acceptance == 1 for info in infos]
    assert any(kept_all)
    assert all(rise != 0 for rise in rises)


def test_without_line_search_steps_are_the_learning_rate(rng):
    _, infos = train(dependent_rows(rng, DOMAIN, 500), DOMAIN, line_search=False, learning_rate=0.07)
    assert [info.step for info in infos] == [0.07] * 5


@pytest.mark.parametrize("max_ratio", [1.2, 2.0])
def test_leaf_values_are_bounded_by_the_largest_ratio(rng, max_ratio):
    state, infos = train(dependent_rows(rng, DOMAIN, 500), DOMAIN, max_ratio=max_ratio, max_leaves=40)
    for tree, info in zip(state.energy.trees, infos, strict=True):
        assert tree.leaf_value.max() <= info.step * (max_ratio - 1) + 1e-9
        assert tree.leaf_value.min() >= -info.step - 1e-9


def test_training_rows_are_not_changed(rng):
    codes = dependent_rows(rng, DOMAIN, 500)
    before = codes.copy()
    train(codes, DOMAIN, refill="restart", burn_in=3)
    assert np.array_equal(codes, before)


@pytest.mark.parametrize("max_leaves", [2, 2500])
def test_every_size_of_tree_can_be_trained(rng, max_leaves):
    domain = Domain((65, 40, 30), (True, False, True))
    state, _ = train(dependent_rows(rng, domain, 4000), domain, max_leaves=max_leaves, pool_size=4000)
    most = max(tree.n_leaves for tree in state.energy.trees)
    assert most == 2 if max_leaves == 2 else 64 < most <= 2500
    assert state.energy.index.max_leaves == max(64, 1 << (most - 1).bit_length())  # as the trees are, not as allowed
    assert state.energy.n_trees == 5


def test_leaf_values_are_those_of_the_objective():
    """Newton: P/Q - 1; greedy: log P/Q, so that the density is multiplied by P/Q [tbl:discbgm]."""
    p, q = np.array([0.5, 0.3, 0.2, 0.0]), np.array([0.25, 0.3, 0.4, 0.05])
    np.testing.assert_allclose(leaf_values("newton", p, q, 100), [1, 0, -0.5, -1])
    for objective in ("greedy_kl", "greedy_chi2"):
        np.testing.assert_allclose(np.exp(leaf_values(objective, p, q, 100)), [2, 1, 0.5, 0.005 / 0.05])


@pytest.mark.parametrize("objective", ["greedy_kl", "greedy_chi2"])
def test_greedy_boosting_raises_the_likelihood(rng, objective):
    codes = dependent_rows(rng, DOMAIN, 500)
    state, info = train(codes, DOMAIN, objective=objective, n_trees=10, pool_size=4000)
    first, last = (state.energy.score(codes, t).mean() - state.energy.log_z[t] for t in (0, 10))
    assert last > first + 0.05
    newton, _ = train(codes, DOMAIN, n_trees=10, pool_size=4000)
    assert newton.energy.trees[0].leaf_value.tobytes() != state.energy.trees[0].leaf_value.tobytes()
    assert len(info) == 10
