"""What training converges to, by enumeration of tiny domains."""

import numpy as np
import pytest
from scipy.special import logsumexp

from energyboost.fitting.boosting import boost, start
from energyboost.fitting.config import BoostingConfig
from energyboost.fitting.grow import Rows
from energyboost.fitting.line_search import log_z_rise
from tests import exact
from tests.ensembles import Domain, dependent_rows, train

EIGHT = Domain((2, 2, 2), (True, False, True))
CELLS = exact.cells(EIGHT)
COUNTS = np.array([90, 10, 20, 60, 15, 100, 65, 40])
ROWS = np.repeat(CELLS, COUNTS, axis=0)
POOL = 60_000
# Only a part of the pool is drawn anew in a round, and those draws are no more than this times as uncertain as
# independent ones.
SLOW = exact.slowness(exact.sweep_matrix(EIGHT, COUNTS / COUNTS.sum()))
# Standard deviations that a normal variable exceeds, on one side or the other, with probability 1e-6.
NORMAL = 4.9
# What a chi-square variable of seven degrees of freedom (eight cells) exceeds with probability 1e-6.
CHI_SQUARE = 40.5


@pytest.fixture(scope="module", params=["persistent", "restart"])
def converged(request, seed):
    """A model trained to convergence on 400 rows in eight cells."""
    parameters = {"n_trees": 100, "learning_rate": 0.3, "max_leaves": 4, "pool_size": POOL, "burn_in": 5}
    return train(ROWS, EIGHT, seed=seed, refill=request.param, **parameters)


def test_the_model_becomes_the_distribution_of_the_table(converged):
    energy, empirical = converged[0].energy, COUNTS / COUNTS.sum()
    divergence = [exact.divergence(empirical, exact.probabilities(energy, t)) for t in (0, 5, 100)]
    # The trees stop where the pool looks like the table. Of a pool of M independent rows, 2 M KL is chi-square.
    bound = SLOW * CHI_SQUARE / (2 * POOL)
    assert divergence[-1] < bound
    # the controls: the baseline and the first five rounds
    assert divergence[0] > 50 * bound
    assert divergence[1] > 5 * bound


def test_conditionals_become_those_of_the_table(converged):
    energy = converged[0].energy
    for column in range(3):
        expected = [exact.conditional(EIGHT, COUNTS / COUNTS.sum(), row, column) for row in CELLS]
        # the smallest pair of cells holds 25 of 400 rows: a relative error of its cells of sqrt(40.5 * SLOW / M) each
        error = 2 * np.sqrt(SLOW * CHI_SQUARE / (POOL * 25 / 400))
        np.testing.assert_allclose(energy.conditional(CELLS, column), expected, atol=error)


def test_log_z_of_the_first_round_is_exact(converged):
    energy = converged[0].energy
    assert exact.log_z(energy, 1) == pytest.approx(energy.log_z[1], abs=1e-12)


def test_log_z_is_carried_along_within_its_error(converged):
    state, infos = converged
    energy, variance = state.energy, 0.0
    for t, info in enumerate(infos[1:], 2):
        # Each round adds -log of a mean of exp(-value) over its new rows, which no tree has been fitted on.
        probability = exact.probabilities(energy, t)
        weight = np.exp(-energy.trees[t - 1].leaf_value[energy.trees[t - 1].leaves(CELLS)])
        mean, n_new = probability @ weight, (1 - info.acceptance) * POOL
        variance += SLOW / n_new * (probability @ (weight - mean) ** 2) / mean**2
    assert abs(energy.log_z[-1] - exact.log_z(energy)) < NORMAL * np.sqrt(variance)
    # the control: log Z of the first round would be further off than that
    assert abs(energy.log_z[1] - exact.log_z(energy)) > NORMAL * np.sqrt(variance)


def test_gains_add_up_to_the_likelihood(converged):
    state, infos = converged
    energy = state.energy
    likelihood = [energy.score(ROWS, t).mean() - energy.log_z[t] for t in (0, len(infos))]
    assert sum(info.gain for info in infos) == pytest.approx(likelihood[1] - likelihood[0], abs=1e-9)


@pytest.mark.parametrize("refill", ["persistent", "restart"])
def test_the_likelihood_of_the_training_rows_rises(rng, seed, refill):
    domain = Domain((3, 4, 2), (True, False, True))
    rows = dependent_rows(rng, domain, 500)
    pool = 50_000
    state, infos = train(rows, domain, seed=seed, n_trees=30, max_leaves=6, pool_size=pool, refill=refill, burn_in=5)
    likelihood = [
        state.energy.score(rows, t).mean() - exact.log_z(state.energy, t) for t in range(state.energy.n_trees + 1)
    ]
    # With X² the chi-square divergence of the leaves' P and Q and γ the learning rate, a round gains about γ X² and
    # the pool errs about that by 5 γ X sqrt(slow / M): a gain of this size is beyond doubt, and less is no loss.
    slow = exact.slowness(exact.sweep_matrix(domain, exact.probabilities(state.energy)))
    sure = 25 * 0.15 * slow / pool
    rises = np.diff(likelihood)
    gains = np.array([info.gain for info in infos])
    assert (rises > -sure).all()
    assert (rises[gains > sure] > 0).all()
    assert (gains > sure).sum() >= 5
    # no density gives the rows more than their own shares do
    shares = exact.shares(domain, rows)
    entropy = exact.divergence(shares, np.ones(len(shares)))
    assert likelihood[0] < likelihood[-1] < entropy


def test_log_z_is_not_flattered_by_the_rows_that_trees_were_fitted_on(rng, seed):
    domain = Domain((8, 8, 8), (True, False, True))
    rows, cells = dependent_rows(rng, domain, 1000), exact.cells(domain)
    # large trees on a small pool: a leaf with few pool rows by chance gets a high value
    config = BoostingConfig(n_trees=60, max_leaves=60, pool_size=3000, learning_rate=0.3)
    variance, flattered, pool = 0.0, 0.0, None
    for state, info in boost(start(Rows(rows), domain, config), Rows(rows), config, seed):
        energy, tree = state.energy, state.energy.trees[-1]
        probability = np.exp(energy.score(cells) - logsumexp(energy.score(cells)))
        if info.round == 1:
            flattered = info.log_z
        else:
            q = np.bincount(tree.leaves(pool), minlength=tree.n_leaves) / len(pool)
            flattered += log_z_rise(tree.leaf_value, q)
            weight = np.exp(-tree.leaf_value[tree.leaves(cells)])
            mean = probability @ weight
            variance += (probability @ (weight - mean) ** 2) / mean**2 / state.pool.n_new
        pool = state.pool.codes
    error = NORMAL * np.sqrt(variance * exact.slowness(exact.sweep_matrix(domain, probability)))
    log_z = logsumexp(energy.score(cells))
    assert abs(energy.log_z[-1] - log_z) < error
    # the control: the same from the rows that each tree was fitted on
    assert flattered < log_z - error
