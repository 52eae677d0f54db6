"""Adding reached leaves to a slice, and drawing a code from it."""

import numpy as np
from numba import njit

from energyboost.kernels.arrays import LANES
from energyboost.kernels.vectors import FAST, add_levels, sum_of_lanes, weigh_jumps, weigh_values

ONE = np.uint64(1)


@njit(nogil=True, fastmath=FAST, error_model="numpy")
def add_leaves(value, lower, levels, first_group, ordered, column, n_groups, leaves, n_leaves, energy):
    """Add the reached leaves to a slice: jumps at their first codes, or their values at each of their levels."""
    if ordered:
        at, behind = np.uint64(column), np.uint64(n_groups) * np.uint64(LANES)
        before = np.float32(0)
        for i in range(n_leaves):
            leaf = np.uint64(leaves[np.uint64(i)])
            low = np.uint64(lower[leaf, at])
            # A leaf from code 0 on is its tree's first along the column: its value is a constant of the slice. It is
            # dropped behind the last code, in one of several places so that drops do not wait for each other.
            low = low if low != np.uint64(0) else behind + (np.uint64(i) & np.uint64(LANES - 1))
            energy[low] += value[leaf] - before
            before = value[leaf]
        return
    for g in range(np.uint64(n_groups)):
        group = np.uint64(first_group) + np.uint64(g)
        add_levels(energy, np.uint64(g) * np.uint64(LANES), value, levels, group, leaves, np.uint64(n_leaves))


@njit(nogil=True, fastmath=FAST, error_model="numpy")
def exponentiate(weight, start, n, top):
    """Replace ``n`` weights from ``start`` on by exp(weight - top), and return their sum."""
    total = np.float32(0)
    for k in range(np.uint64(n)):
        at = np.uint64(start) + np.uint64(k)
        # exp(x) = 2^whole * 2^part, the second by the polynomial of least relative error: exp does not vectorise
        x = (weight[at] - top) * np.float32(1.44269504)
        x = x if x > np.float32(-126.0) else np.float32(-126.0)
        whole = np.int32(x + np.float32(126.0))
        part = x - (np.float32(whole) - np.float32(126.0))
        p = np.float32(0.008989353) + part * np.float32(0.001877572)
        p = np.float32(0.24015363) + part * (np.float32(0.055826306) + part * p)
        p = np.float32(0.99999994) + part * (np.float32(0.6931531) + part * p)
        p *= np.int32((whole + np.int32(1)) << np.int32(23)).view(np.float32)
        p = p if x > np.float32(-126.0) else np.float32(0)
        weight[at] = p
        total += p
    return total


@njit(nogil=True, fastmath=FAST, error_model="numpy")
def pick(weight, start, n, rest):
    """The first of ``n`` codes (a multiple of LANES) whose weights, from ``start`` on, sum to more than ``rest``."""
    k, end = np.uint64(start), np.uint64(start) + np.uint64(n)
    last = k  # the last code with any weight met: rounding must not lead past it
    while k < end:
        group = sum_of_lanes(weight, k)
        if rest < group:
            break
        rest -= group
        k += np.uint64(LANES)
    if k == end:
        k = np.uint64(start)
        rest = np.float32(3e38)
    while k < end:
        if weight[k] > np.float32(0):
            last = k
            if rest < weight[k]:
                break
            rest -= weight[k]
        k += ONE
    return last - np.uint64(start)


@njit(nogil=True, fastmath=FAST, error_model="numpy")
def draw(ordered, energy, base, first, cold, n_codes, weight, uniform, reflected, code):
    """Draw a code from softmax((slice + base) * cold) and clear the slice; ``base`` is read from ``first`` on.

    ``reflected`` takes the code as far from the upper end of the distribution as ``code`` is from the lower one; the
    uniform number then says where within its own share ``code`` is.
    """
    n, first, start = np.uint64(n_codes), np.uint64(first), np.uint64(0)
    if ordered:
        top = weigh_jumps(energy, base, first, cold, n, weight, start)
    else:
        top = weigh_values(energy, base, first, cold, n, weight, start)
    total = exponentiate(weight, start, n, top)
    if not reflected:
        return pick(weight, start, n, uniform * total)
    below = uniform * weight[np.uint64(code)]
    for k in range(np.uint64(code)):
        below += weight[np.uint64(k)]
    return pick(weight, start, n, max(np.float32(0), total - below))
