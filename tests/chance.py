"""When do counts contradict probabilities? Tests of chance with a stated rate of false alarms."""

import numpy as np
from scipy.stats import binom

FALSE_ALARM = 1e-6
"""How often a test of chance fails although nothing is wrong, whatever the seed."""


def contradicted(counts, probability, n_tests=1):
    """Whether counts of independent draws contradict the probabilities of the cells.

    Every cell's count is binomial; its exact two-sided p-value is held against ``FALSE_ALARM`` over the number of cells
    and of tests. By the union bound the rate of false alarms is at most ``FALSE_ALARM`` for any sample size: no
    asymptotics, so that small expected counts do no harm.
    """
    counts, probability = np.asarray(counts), np.clip(probability, 0, 1)
    n = counts.sum()
    # single-precision weights are off by far less than this, and it is far below what the samples can see
    slack = 1e-6
    too_many = binom.sf(counts - 1, n, np.minimum(1, probability + slack * (probability > 0)))
    too_few = binom.cdf(counts, n, np.maximum(0, probability - slack))
    return bool((2 * np.minimum(too_many, too_few)).min() < FALSE_ALARM / (len(counts) * n_tests))


def rows_contradicted(counts, matrix):
    """The same for a matrix of transitions: row i counts where the draws from state i went."""
    return any(contradicted(row, expected, len(counts)) for row, expected in zip(counts, matrix, strict=True))
