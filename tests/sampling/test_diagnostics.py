"""How well chains mix, measured on chains whose mixing is known exactly."""

import numpy as np
import pytest

from energyboost.sampling.annealing import LogZ
from energyboost.sampling.diagnostics import (
    N_CHAINS,
    N_SWEEPS,
    Diagnostics,
    Mixing,
    effective_size,
    measure_mixing,
    split_r_hat,
)
from tests.ensembles import Domain


def autoregressive(rng, correlation, n_chains=64, n_draws=2000):
    """Chains at equilibrium whose autocorrelation at lag k is correlation^k: an IAT of (1 + r) / (1 - r)."""
    values = np.empty((n_chains, n_draws))
    values[:, 0] = rng.standard_normal(n_chains)
    noise = rng.standard_normal((n_chains, n_draws)) * np.sqrt(1 - correlation**2)
    for k in range(1, n_draws):
        values[:, k] = correlation * values[:, k - 1] + noise[:, k]
    return values


def binned(values, size):
    """Codes of normal values, equally many in each."""
    inner = np.quantile(values, np.arange(1, size) / size)
    return np.searchsorted(inner, values).astype(np.uint8)


@pytest.mark.parametrize("correlation", [0.0, 0.5, 0.9, 0.97])
def test_effective_size_is_that_of_autoregressive_chains(rng, correlation):
    values = autoregressive(rng, correlation)
    assert values.size / effective_size(values) == pytest.approx((1 + correlation) / (1 - correlation), rel=0.2)


def test_chains_that_stay_apart_are_slow_and_disagree(rng):
    values = rng.standard_normal((8, 500)) * 0.1 + np.arange(8)[:, None]
    assert effective_size(values) < 20
    assert split_r_hat(values) > 5
    together = rng.standard_normal((8, 500))
    assert effective_size(together) > 3000
    assert split_r_hat(together) == pytest.approx(1, abs=0.02)


def test_a_drift_inside_chains_is_a_disagreement(rng):
    values = rng.standard_normal((8, 500)) + np.linspace(0, 3, 500)
    assert split_r_hat(values) > 1.2


def test_columns_are_told_apart(rng):
    fast, slow = autoregressive(rng, 0.0), autoregressive(rng, 0.9)
    codes = np.stack([binned(fast, 50), binned(slow, 50), np.zeros(fast.shape, np.uint8)], axis=2)
    mixing = measure_mixing(codes, Domain((50, 50, 3), (True, True, True)))
    assert mixing.slowest == 1
    np.testing.assert_allclose(mixing.iat, [1, 19, 1], rtol=0.25)
    np.testing.assert_allclose(mixing.n_effective, fast.size / mixing.iat)
    assert (mixing.r_hat < 1.05).all()


def test_the_scale_of_codes_does_not_matter(rng):
    """Ranks are compared: a column of a few huge codes mixes as its order does."""
    codes = binned(autoregressive(rng, 0.8), 16)
    stretched = np.array([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 250], np.uint8)[codes]
    domain = Domain((255,), (True,))
    plain, other = (measure_mixing(c[..., None], domain).iat[0] for c in (codes, stretched))
    assert other == pytest.approx(plain)


def test_levels_are_followed_one_by_one(rng):
    """A chain that jumps freely between two levels but hardly ever to a third is slow, whatever their numbers."""
    n_chains, n_draws = 32, 4000
    inside = np.cumsum(rng.random((n_chains, n_draws)) < 0.02, axis=1) + rng.integers(0, 2, (n_chains, 1))
    codes = np.where(inside % 2 == 0, rng.integers(0, 2, (n_chains, n_draws)) * 2, 1).astype(np.uint8)
    domain = Domain((3,), (False,))
    mixing = measure_mixing(codes[..., None], domain)
    # it flips at rate 0.02: the correlation at lag k is 0.96^k
    assert mixing.iat[0] == pytest.approx(1.96 / 0.04, rel=0.3)


@pytest.mark.parametrize("correlation", [0.0, 0.5, 0.9])
def test_sweeps_to_forget_leave_a_tenth_of_the_start(rng, correlation):
    codes = binned(autoregressive(rng, correlation), 50)[..., None]
    n_sweeps = measure_mixing(codes, Domain((50,), (True,))).sweeps_to_forget
    exact = 1 if correlation == 0 else np.log(0.1) / np.log(correlation)
    assert n_sweeps == pytest.approx(exact, rel=0.35, abs=1)


def test_columns_that_never_vary_are_no_trouble():
    mixing = measure_mixing(np.zeros((3, 5, 2), np.uint8), Domain((1, 4), (True, False)))
    assert mixing.iat.tolist() == mixing.r_hat.tolist() == [1, 1]
    assert mixing.sweeps_to_forget == 1


def verdict(iat=(1.0, 5.0), r_hat=(1.0, 1.0), carried=(3.0, 0.01), log_z=(3.0, 0.02)):
    iat = np.array(iat)
    mixing = Mixing(iat, np.array(r_hat), N_CHAINS * N_SWEEPS / iat)
    n_sweeps = min(max(mixing.sweeps_to_forget, 3), 100)
    return Diagnostics(("a", "b"), mixing, n_sweeps, 1e-4, LogZ(*log_z, 16), LogZ(*carried, 16)).verdict


def test_the_verdict_says_how_many_sweeps_make_rows_independent():
    assert verdict().startswith(
        "Samples are practically independent of where their chains start after 6 sweeps; column 'b'"
    )
    assert "after 1 sweep;" in verdict(iat=(1.0, 1.0))
    assert "after 93 sweeps" in verdict(iat=(80.0, 2.0))


def test_the_verdict_says_what_to_do_about_slow_chains():
    found = verdict(iat=(150.0, 2.0))
    assert found.startswith(
        "Chains move slowly along column 'a': they forget where they started after about 173 sweeps"
    )
    assert "Use sample(n_sweeps=173)" in found
    assert verdict(iat=(2.0, 400.0)).startswith("Chains hardly move along column 'b'")


def test_the_verdict_names_columns_that_chains_disagree_about():
    assert "disagree about 'b'" in verdict(r_hat=(1.01, 1.3))
    assert "disagree" not in verdict(r_hat=(1.01, 1.04))


def test_slow_mixing_alone_is_no_disagreement(rng):
    values = autoregressive(rng, 0.9, N_CHAINS, N_SWEEPS)
    assert split_r_hat(values) > 1.05
    assert "disagree" not in verdict(iat=(19.0, 1.0), r_hat=(split_r_hat(values), 1.0))


def test_the_verdict_says_when_the_pool_drifted():
    assert "drifted in training: the log Z carried along is off by +0.500" in verdict(carried=(3.5, 0.01))
    assert "drifted" not in verdict(carried=(3.05, 0.01))
    assert "drifted" not in verdict(carried=(3.5, float("nan")))  # of one chain, nobody knows
    assert verdict().endswith("log Z is 3.000 with a standard error of 0.020.")
