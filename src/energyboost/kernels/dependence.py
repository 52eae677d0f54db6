"""How strongly pairs of columns depend on each other: their maximal correlation."""

import numpy as np
from numba import njit


@njit(nogil=True, cache=True)
def _means(values, codes, of_codes, count, out):
    """The mean of ``values[code]`` over the rows of each code of the other column; returns their mean square."""
    out[:] = 0
    for i in range(codes.shape[0]):
        out[of_codes[i]] += values[codes[i]]
    square = 0.0
    for k in range(out.shape[0]):
        if count[k] > 0:
            out[k] /= count[k]
            square += count[k] * out[k] * out[k]
    return square / codes.shape[0]


@njit(nogil=True, cache=True)
def _standardise(values, count, n_rows):
    """Give values mean 0 and mean square 1 over the rows; returns whether they vary at all."""
    mean, square = 0.0, 0.0
    for k in range(values.shape[0]):
        mean += count[k] * values[k]
    mean /= n_rows
    for k in range(values.shape[0]):
        values[k] -= mean
        square += count[k] * values[k] * values[k]
    square /= n_rows
    if square < 1e-12:
        return False
    for k in range(values.shape[0]):
        values[k] /= np.sqrt(square)
    return True


@njit(nogil=True, cache=True)
def squared_maximal_correlation(a, b, size_a, size_b, start, n_rounds):
    """The largest squared correlation of any function of column ``a`` with any function of column ``b``.

    By alternating conditional means, a power iteration: exact in the limit, from below. ``start`` (size_a) holds the
    values that it starts from.
    """
    n_rows = a.shape[0]
    count_a, count_b = np.zeros(size_a), np.zeros(size_b)
    for i in range(n_rows):
        count_a[a[i]] += 1
        count_b[b[i]] += 1
    of_a, of_b = start.copy(), np.zeros(size_b)
    square = 0.0
    for _ in range(n_rounds):
        if not _standardise(of_a, count_a, n_rows):
            return 0.0
        square = _means(of_a, a, b, count_b, of_b)
        _means(of_b, b, a, count_a, of_a)
    return square


@njit(nogil=True, cache=True)
def determines(a, b, size_a):
    """Whether column ``a`` determines column ``b``: no code of the one comes with two of the other."""
    with_code = np.full(size_a, -1, np.int64)
    for i in range(a.shape[0]):
        if with_code[a[i]] < 0:
            with_code[a[i]] = b[i]
        elif with_code[a[i]] != b[i]:
            return False
    return True
