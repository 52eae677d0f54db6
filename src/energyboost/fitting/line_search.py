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


def line_search(value: Floats, p: Floats, q: Floats) -> float:
    """The best of 101 steps, spread evenly in logarithm over [0.001, 10] [app:implementation-details]."""
    gains = STEPS * (p @ value) - logsumexp(STEPS[:, None] * value, axis=1, b=q)  # [eq:app-line-search]
    return float(STEPS[np.argmax(gains)])
