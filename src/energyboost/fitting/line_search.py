"""The step along a tree that raises the training likelihood most."""

import numpy as np
import numpy.typing as npt
from scipy.special import logsumexp

Floats = npt.NDArray[np.float64]

STEPS = np.logspace(-3, 1, 101)


def log_z_step(value: Floats, q: Floats) -> float:
    """Rise of log Z when leaf values are added to the energy: log sum_j Q_j exp(value_j) [eq:partition-inc]."""
    return float(logsumexp(value, b=q))


def likelihood_gain(step: float, value: Floats, p: Floats, q: Floats) -> float:
    """Gain in log-likelihood per row of adding ``step`` times the leaf values [eq:app-line-search]."""
    return float(step * (p @ value) - log_z_step(step * value, q))


def line_search(value: Floats, p: Floats, q: Floats) -> float:
    """The best of 101 steps, spread evenly in logarithm over [0.001, 10] [app:implementation-details]."""
    gains = STEPS * (p @ value) - logsumexp(STEPS[:, None] * value, axis=1, b=q)
    return float(STEPS[np.argmax(gains)])
