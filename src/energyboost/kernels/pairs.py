"""Drawing two columns at once from their exact joint distribution given the others.

The leaves that a row can reach along both columns are boxes in the plane of their codes. The energy of every cell is a
sum over the boxes that hold it: along an ordered column a box is an interval, entered as a jump up and a jump down and
summed up once at the end; along an unordered column it is entered level by level. *Rows* of the plane are the codes of
the outer column; along the inner one, rows are slices like any other.
"""

import numpy as np
from numba import njit

from energyboost.kernels.arrays import LANES
from energyboost.kernels.draws import exponentiate, pick
from energyboost.kernels.vectors import (
    FAST,
    add_row_of_jumps,
    add_row_of_values,
    add_to_levels,
    weigh_row_of_jumps,
    weigh_row_of_values,
)

ONE, BITS = np.uint64(1), np.uint64(LANES)
NEGLIGIBLE = np.float32(30.0)  # exp(-30) times a million cells is nothing in single precision


@njit(nogil=True, fastmath=FAST, error_model="numpy")
def _add_to_row(plane, at, ordered, lower, upper, levels, leaf, column, first_group, n_groups, value):
    """Add a value to the codes of a row that a leaf admits; the row stands in ``plane`` from ``at`` on."""
    if ordered:
        plane[at + np.uint64(lower[leaf, column])] += value
        plane[at + np.uint64(upper[leaf, column]) + ONE] -= value
        return
    for g in range(n_groups):
        add_to_levels(plane, at + np.uint64(g) * BITS, levels, leaf, first_group + np.uint64(g), value)


@njit(nogil=True, fastmath=FAST, error_model="numpy")
def _add_to_plane(columns, sets, outer, inner, leaves, n_leaves, plane, stride):
    """Add every reached leaf to the plane, of which the row behind the last counts for all rows of an unordered column.

    Leaves that admit most levels of the outer column are added to all of them, and taken from the others.
    """
    value, lower, upper, levels = sets.box_value, sets.box_lower, sets.box_upper, sets.levels
    a, b, size = np.uint64(outer), np.uint64(inner), np.uint64(columns.size[outer])
    a_group, b_group = np.uint64(sets.levels_start[outer]), np.uint64(sets.levels_start[inner])
    b_groups = np.uint64((columns.start[inner + 1] - columns.start[inner]) // LANES)
    a_ordered, b_ordered = columns.ordered[outer], columns.ordered[inner]
    if a_ordered and b_ordered:
        for i in range(n_leaves):
            leaf = np.uint64(leaves[np.uint64(i)])
            v = value[leaf]
            top, bottom = np.uint64(lower[leaf, a]) * stride, (np.uint64(upper[leaf, a]) + ONE) * stride
            left, right = np.uint64(lower[leaf, b]), np.uint64(upper[leaf, b]) + ONE
            plane[top + left] += v
            plane[top + right] -= v
            plane[bottom + left] -= v
            plane[bottom + right] += v
        return
    for i in range(n_leaves):
        leaf = np.uint64(leaves[np.uint64(i)])
        v = value[leaf]
        if a_ordered:
            at = np.uint64(lower[leaf, a]) * stride
            _add_to_row(plane, at, b_ordered, lower, upper, levels, leaf, b, b_group, b_groups, v)
            at = (np.uint64(upper[leaf, a]) + ONE) * stride
            _add_to_row(plane, at, b_ordered, lower, upper, levels, leaf, b, b_group, b_groups, -v)
            continue
        n_admitted = np.uint64(0)
        for k in range(size):
            n_admitted += (np.uint64(levels[leaf, a_group + k // BITS]) >> (k % BITS)) & ONE
        most = np.uint64(2 * n_admitted > size)
        if most:
            _add_to_row(plane, size * stride, b_ordered, lower, upper, levels, leaf, b, b_group, b_groups, v)
            v = -v
        for k in range(size):
            if (np.uint64(levels[leaf, a_group + k // BITS]) >> (k % BITS)) & ONE != most:
                _add_to_row(plane, k * stride, b_ordered, lower, upper, levels, leaf, b, b_group, b_groups, v)


@njit(nogil=True, fastmath=FAST, error_model="numpy")
def draw_pair(
    columns, sets, outer, inner, leaves, n_leaves, base, cold, plane, weight, energy, row_sum, u_outer, u_inner
):
    """Draw the codes of two columns from softmax((plane + base) * cold), given the leaves reached along both.

    ``plane`` must be zero, and is again afterwards; the others are room: ``weight`` for all cells, ``energy`` for a row
    and LANES more (zero, too), ``row_sum`` for a number for each row.
    """
    size, n = np.uint64(columns.size[outer]), np.uint64(columns.start[inner + 1] - columns.start[inner])
    stride = n + BITS
    _add_to_plane(columns, sets, outer, inner, leaves, n_leaves, plane, stride)
    ordered, inner_ordered = columns.ordered[outer], columns.ordered[inner]
    first, inner_first = np.uint64(columns.start[outer]), np.uint64(columns.start[inner])
    common = size * stride
    if not ordered:  # of what is common to all rows, each row is a change
        for i in range(stride):
            energy[np.uint64(i)] = plane[common + np.uint64(i)]
            plane[common + np.uint64(i)] = 0
    best = np.float32(-3e38)
    for k in range(size):
        at, start = np.uint64(k) * stride, np.uint64(k) * n
        if ordered and inner_ordered:  # rows are sums of the jumps of all rows so far
            top = add_row_of_jumps(energy, base, inner_first, cold, n, weight, start, plane, at)
        elif ordered:
            top = add_row_of_values(energy, base, inner_first, cold, n, weight, start, plane, at)
        elif inner_ordered:
            top = weigh_row_of_jumps(energy, base, inner_first, cold, n, weight, start, plane, at)
        else:
            top = weigh_row_of_values(energy, base, inner_first, cold, n, weight, start, plane, at)
        row_sum[np.uint64(k)] = top + base[first + np.uint64(k)] * cold
        best = max(best, row_sum[np.uint64(k)])
    for i in range(stride):  # what is left: the sum of all rows, and the jumps behind the last
        energy[np.uint64(i)] = 0
        plane[common + np.uint64(i)] = 0
    total = np.float64(0)  # of up to 65,536 rows
    for k in range(size):
        top = row_sum[np.uint64(k)]
        row_sum[np.uint64(k)] = 0
        if best - top < NEGLIGIBLE:
            shift = base[first + np.uint64(k)] * cold
            row_sum[np.uint64(k)] = exponentiate(weight, np.uint64(k) * n, n, best - shift)
            total += np.float64(row_sum[np.uint64(k)])
    rest, chosen = np.float64(u_outer) * total, np.uint64(0)
    for k in range(size):
        if row_sum[np.uint64(k)] > 0:
            chosen = np.uint64(k)  # the last row with any weight met: rounding must not lead past it
            if rest < np.float64(row_sum[chosen]):
                break
            rest -= np.float64(row_sum[chosen])
    return chosen, pick(weight, chosen * n, n, u_inner * row_sum[chosen])
