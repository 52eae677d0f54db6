"""The step along a tree."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

from energyboost.fitting.line_search import (
    STEPS,
    line_search,
    log_z_rise,
    log_z_rise_after,
    rise_by_chain,
    standard_error,
)
from tests import naive


def leaves(seed, n=6, spread=1.0):
    """Shares of the data and of the model in the leaves of a tree, and the best values [eq:optimal-w]."""
    rng = np.random.default_rng(seed)
    q = rng.dirichlet(np.ones(n)) + 1e-6
    p = q * np.exp(rng.normal(0, spread, n))
    p, q = p / p.sum(), q / q.sum()
    return p / q - 1, p, q


SEEDS, SPREADS = st.integers(0, 2**32 - 1), st.sampled_from([1e-3, 0.1, 1.0, 2.0])


def test_steps_are_spread_evenly_in_logarithm():
    assert len(STEPS) == 101
    assert (STEPS[0], STEPS[-1]) == (pytest.approx(1e-3), pytest.approx(10))
    np.testing.assert_allclose(np.diff(np.log(STEPS)), math.log(10**4) / 100)


@given(SEEDS, SPREADS)
def test_the_step_is_the_plain_search_s(seed, spread):
    value, p, q = leaves(seed, spread=spread)
    step = line_search(value, p, q)
    assert step == pytest.approx(naive.line_search(value, p, q))


@given(SEEDS, SPREADS)
def test_the_step_is_next_to_the_best_of_all_steps(seed, spread):
    value, p, q = leaves(seed, spread=spread)
    ends = math.log(1e-3), math.log(10)
    best = minimize_scalar(lambda s: -naive.likelihood_gain(math.exp(s), value, p, q), bounds=ends, method="bounded")
    # the gain is concave in the step: the best of the grid stands on one side of it or the other
    assert abs(math.log(line_search(value, p, q)) - best.x) <= math.log(10**4) / 100 + 1e-3


@given(SEEDS, SPREADS)
def test_a_step_that_is_searched_never_lowers_the_likelihood(seed, spread):
    value, p, q = leaves(seed, spread=spread)
    assert naive.likelihood_gain(line_search(value, p, q), value, p, q) >= -1e-12


@given(SEEDS)
def test_log_z_rises_by_the_mean_of_what_the_tree_multiplies_with(seed):
    value, _, q = leaves(seed)
    rise = math.log(sum(q * np.exp(value)))
    assert log_z_rise(value, q) == pytest.approx(rise, abs=1e-13)
    assert log_z_rise(value + 700, q) == pytest.approx(700 + rise, abs=1e-12)


@given(SEEDS)
def test_rows_of_the_new_model_tell_the_same_rise_of_log_z(seed):
    # of rows in the very shares of the new model, as many as the denominators of these shares
    rng = np.random.default_rng(seed)
    value, rows = rng.normal(size=4), np.repeat(np.arange(4), rng.integers(1, 9, 4))
    after = np.bincount(rows) / len(rows)
    before = after * np.exp(-value)
    before /= before.sum()
    assert log_z_rise_after(value[rows]) == pytest.approx(log_z_rise(value, before), abs=1e-12)
    assert log_z_rise_after(value[rows] + 700) == pytest.approx(700 + log_z_rise(value, before), abs=1e-12)


def test_leaves_without_data_are_allowed():
    p, q = np.array([0.0, 1.0]), np.array([0.5, 0.5])
    value = p / q - 1
    # half of the model is where no data is: the further the better
    assert line_search(value, p, q) == pytest.approx(10)
    assert naive.likelihood_gain(10, value, p, q) == pytest.approx(math.log(2), abs=1e-8)


def test_the_error_of_a_mean_over_chains_is_that_of_their_spread(seed):
    """Chains whose states agree with each other and not with other chains: as many values as there are chains."""
    rng = np.random.default_rng(seed)
    n_chains, n_each, n_rounds = 16, 200, 30
    ends, errors = [], []
    for _ in range(200):
        stuck = rng.normal(0, 0.2, n_chains)  # where each chain stays, round after round
        drift, total = np.zeros(n_chains), 0.0
        for _ in range(n_rounds):
            value = np.repeat(stuck[None], n_each, axis=0).ravel()[: n_chains * n_each - 5]
            rise = log_z_rise_after(value)
            drift = drift + rise_by_chain(value, n_chains) - rise
            total += rise
        ends.append(total)
        errors.append(standard_error(drift))
    # standard errors of 16 values, averaged over 200 repeats, against the true spread: within 25 %
    assert np.mean(errors) == pytest.approx(np.std(ends), rel=0.25)
    # the control: as if all states were independent of each other
    assert np.std(ends) > 5 * 0.2 * np.sqrt(n_rounds) / np.sqrt(n_chains * n_each)


def test_chains_without_a_state_stand_where_all_do():
    value = np.array([0.3, -0.1])
    by_chain = rise_by_chain(value, 5)
    assert by_chain[2:].tolist() == [log_z_rise_after(value)] * 3
    assert by_chain[0] > log_z_rise_after(value) > by_chain[1]
    assert by_chain.mean() == pytest.approx(log_z_rise_after(value), abs=1e-12)
    assert np.isnan(standard_error(np.zeros(1)))


@pytest.mark.parametrize("n_values", [30, 100, 130])
def test_the_error_is_right_where_few_chains_have_a_state(seed, n_values):
    """100 chains and independent states: the standard error is that of so many values."""
    rng = np.random.default_rng(seed)
    values = rng.normal(0, 0.1, (2000, n_values))
    errors = [standard_error(rise_by_chain(value, 100)) for value in values]
    spread = np.std([log_z_rise_after(value) for value in values])
    assert np.sqrt(np.mean(np.square(errors))) == pytest.approx(spread, rel=0.15)
