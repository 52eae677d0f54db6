"""log Z by annealing, against enumeration."""

import numpy as np
import pytest

from energyboost.sampling.annealing import WIDE, LogZ, anneal, batch_size_for
from energyboost.sampling.moves import Moves, Pair
from energyboost.sampling.pool import first_log_z
from tests import exact
from tests.ensembles import Domain, random_energy

DOMAIN = Domain((3, 4, 2), (True, False, True))


@pytest.fixture(scope="module")
def energy():
    """A model on 24 cells whose trees matter."""
    return random_energy(np.random.default_rng(3), DOMAIN, 6, 8, scale=1.0)


def annealed(energy, seed, **how):
    return anneal(energy, np.random.SeedSequence(seed), **how)


def test_log_z_of_the_first_tree_is_exact(energy):
    assert first_log_z(energy) == pytest.approx(exact.log_z(energy, 1), rel=1e-12)


@pytest.mark.parametrize("moves", [Moves(), Moves.of(DOMAIN, [Pair((0, 1), 0.9)])], ids=["single", "pairs"])
def test_z_is_estimated_without_bias_after_every_tree(energy, seed, moves):
    """The mean of many estimates of Z is within five standard errors; that of a Z 15 % off is not."""
    batches, n = [], 400
    for k in range(n):
        found, _ = annealed(energy, 1000 * seed + k, n_batches=2, batch_size=32, moves=moves)
        batches.append([one.value for one in found])
    for t in range(energy.n_trees + 1):
        z = np.exp(np.array(batches)[:, t] - exact.log_z(energy, t))
        error = z.std(ddof=1) / np.sqrt(n)
        assert abs(z.mean() - 1) < 5 * error + 1e-9
        assert t < 2 or abs(1.15 * z.mean() - 1) > 5 * error  # the control


def test_intervals_hold_log_z_about_as_often_as_they_say(energy, seed):
    truth = exact.log_z(energy)
    found = [annealed(energy, 1000 * seed + k, n_batches=8, batch_size=32)[0] for k in range(300)]
    inside = np.array([low <= truth <= high for low, high in (f[6].interval() for f in found)])
    # each is in it with probability 0.95: 300 of them leave 0.88 .. 0.995 once in a million times
    assert 0.88 <= inside.mean() <= 0.999
    # the control: intervals of half the width
    half = [abs(truth - f[6].value) <= (f[6].interval()[1] - f[6].value) / 2 for f in found]
    assert np.mean(half) < 0.88


def test_the_rows_are_those_of_the_whole_model(energy, seed):
    # rows of one batch share ancestors, so that only the mean over many batches is a test
    _, rows = annealed(energy, seed, n_batches=200, batch_size=1000)
    share = exact.shares(DOMAIN, rows)
    by_batch = np.array([exact.shares(DOMAIN, part) for part in np.split(rows, 200)])
    error = by_batch.std(axis=0, ddof=1) / np.sqrt(200)
    seen = share > 1e-3  # of rarer cells, 200 means are not normal
    assert (np.abs(share - exact.probabilities(energy)) < 6 * error + 1e-6)[seen].all()
    assert not (np.abs(share - exact.probabilities(energy, 5)) < 6 * error + 1e-6)[seen].all()


def test_nothing_depends_on_the_number_of_threads(energy):
    one, rows = annealed(energy, 5)
    for n_jobs in (2, 5):
        other, other_rows = annealed(energy, 5, n_jobs=n_jobs)
        assert other == one
        assert other_rows.tobytes() == rows.tobytes()


@pytest.mark.parametrize("n_trees", [0, 1])
def test_models_of_no_tree_or_one_are_known_exactly(n_trees):
    energy = random_energy(np.random.default_rng(3), DOMAIN, n_trees, 8)
    found, rows = annealed(energy, 0)
    np.testing.assert_allclose(
        [f.value for f in found], [exact.log_z(energy, t) for t in range(n_trees + 1)], atol=1e-9
    )
    np.testing.assert_allclose([f.error for f in found], 0, atol=1e-12)
    assert rows.shape == (1024, 3)


def test_intervals_widen_with_coverage_and_fewer_batches():
    def width(n_batches, coverage):
        low, high = LogZ(0.0, 1.0, n_batches).interval(coverage)
        return high - low

    assert width(3, 0.95) > width(16, 0.95) > width(16, 0.5)
    assert width(10**6, 0.95) == pytest.approx(2 * 1.96, rel=1e-3)


def test_batches_that_differ_widely_are_not_trusted(seed):
    """Few rows, trees that change much, and chains that hardly move: the error says so, and does not end at 1."""
    domain = Domain((30, 30), (True, True))
    energy = random_energy(np.random.default_rng(0), domain, 12, 60, scale=3.0)
    found, _ = annealed(energy, seed, batch_size=8)
    assert found[-1].error > WIDE
    low, high = found[-1].interval(0.999)
    assert low < exact.log_z(energy) < high


def test_the_time_that_annealing_takes_is_bounded():
    domain = Domain((2,) * 10, (True,) * 10)
    sizes = {}
    for n_trees in (0, 10, 200, 500, 2000):
        energy = random_energy(np.random.default_rng(0), domain, 1, 2)
        energy.trees = energy.trees * n_trees
        sizes[n_trees] = batch_size_for(energy)
    assert sizes == {0: 64, 10: 64, 200: 62, 500: 10, 2000: 0}


def test_an_estimate_of_one_chain_may_be_anywhere():
    assert LogZ(1.0, float("nan"), 1).interval() == (-np.inf, np.inf)
    assert LogZ(1.0, 0.0, 1).interval() == (1.0, 1.0)
