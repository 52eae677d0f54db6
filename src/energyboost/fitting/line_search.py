"""The step along a tree that raises the training likelihood most."""

import numpy as np
import numpy.typing as npt
from scipy.special import logsumexp

Floats = npt.NDArray[np.float64]

STEPS = np.logspace(-3, 1, 101)


def log_z_rise(value: Floats, q: Floats) -> float:
    """Rise of log Z when leaf values are added to the energy: log sum_j Q_j exp(value_j) [eq:partition-inc].

    Q must not be counted on rows that the leaves were fitted on: these flatter the new model, in every round.
    """
    return float(logsumexp(value, b=q))


def log_z_rise_after(value: Floats) -> float:
    """The same from rows of the *new* model, given what the new tree adds to each: -log mean exp(-value)."""
    return float(np.log(len(value)) - logsumexp(-value))


def rise_by_chain(value: Floats, n_chains: int) -> Floats:
    """The same if each chain stood for all, to first order; value r belongs to chain r % n_chains.

    The mean over chains is the rise itself: a chain with more states counts for more, one with none stands where all
    together do.
    """
    rise = log_z_rise_after(value)
    weight, chain = np.exp(-value + rise), np.arange(len(value)) % n_chains  # of mean 1
    count = np.bincount(chain, minlength=n_chains)
    beyond = np.bincount(chain, weight, minlength=n_chains) - count  # by how much the chain's weights are too many
    return np.asarray(rise - beyond * (n_chains / len(value)))


def standard_error(drift: Floats) -> float:
    """The standard error of a mean over chains, given how far each of them stands from it."""
    return float(drift.std(ddof=1) / np.sqrt(len(drift))) if len(drift) > 1 else float("nan")


def line_search(value: Floats, p: Floats, q: Floats) -> float:
    """The best of 101 steps, spread evenly in logarithm over [0.001, 10] [app:implementation-details]."""
    gains = STEPS * (p @ value) - logsumexp(STEPS[:, None] * value, axis=1, b=q)  # [eq:app-line-search]
    return float(STEPS[np.argmax(gains)])
