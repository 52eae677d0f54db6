"""Drawing two columns at once from their exact joint distribution given the others.

The leaves that a row can reach along both columns are boxes in the plane of their codes. The energy of every cell is a
sum over the boxes that hold it: along an ordered column a box is an interval, entered as a jump up and a jump down and
summed up once at the end; along an unordered column it is entered level by level. *Rows* of the plane are codes of the
outer column; along the inner one, rows are slices like any other.

Of an outer column with many codes, each draw looks at some: those that are a multiple of a stride away from the present
one. Whichever of them is drawn, they would have been the same, so this too is a draw from an exact conditional. One of
two neighbouring strides is taken at random, so that any code can be reached.
"""

import numpy as np
from numba import njit
from numba.cpython.unsafe.numbers import trailing_zeros

from energyboost.kernels.arrays import LANES, PLANE_ROWS
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


@njit(nogil=True)
def spread_rows(size, code, uniform, row_of):
    """Choose the codes of the outer column that are the rows of a plane: the first, the stride, and how many.

    Writes to ``row_of[k]`` how many of them are below k, for 0 <= k <= size.
    """
    stride = (size + PLANE_ROWS - 1) // PLANE_ROWS
    if stride > 1 and uniform < np.float32(0.5):
        stride += 1
    first = code % stride
    n_rows, following = 0, first
    for k in range(size + 1):
        row_of[k] = n_rows
        if k == following:
            n_rows += k < size
            following += stride
    return first, stride, n_rows


@njit(nogil=True, error_model="numpy", forceinline=True)
def count_of_bits(word):
    """How many bits of a word are set."""
    word -= (word >> np.uint64(1)) & np.uint64(0x5555555555555555)
    word = (word & np.uint64(0x3333333333333333)) + ((word >> np.uint64(2)) & np.uint64(0x3333333333333333))
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return (word * np.uint64(0x0101010101010101)) >> np.uint64(56)


@njit(nogil=True, fastmath=FAST, error_model="numpy")
def _add_to_plane(columns, sets, outer, inner, rows, row_of, leaves, n_leaves, plane, stride):
    """Add every reached leaf to the plane, of which the row behind the last counts for all rows of an unordered column.

    Leaves that admit most levels of the outer column are added to all of them, and taken from the others.
    """
    value, lower, upper, levels = sets.box_value, sets.box_lower, sets.box_upper, sets.levels
    first, step, n_rows = np.uint64(rows[0]), np.uint64(rows[1]), np.uint64(rows[2])
    a, b = np.uint64(outer), np.uint64(inner)
    a_group, b_group = np.uint64(sets.levels_start[outer]), np.uint64(sets.levels_start[inner])
    b_groups = np.uint64((columns.start[inner + 1] - columns.start[inner]) // LANES)
    a_ordered, b_ordered = columns.ordered[outer], columns.ordered[inner]
    if a_ordered and b_ordered:
        for i in range(n_leaves):
            leaf = np.uint64(leaves[np.uint64(i)])
            v = value[leaf]
            top = np.uint64(row_of[np.uint64(lower[leaf, a])]) * stride
            bottom = np.uint64(row_of[np.uint64(upper[leaf, a]) + ONE]) * stride
            left, right = np.uint64(lower[leaf, b]), np.uint64(upper[leaf, b]) + ONE
            plane[top + left] += v
            plane[top + right] -= v
            plane[bottom + left] -= v
            plane[bottom + right] += v
        return
    every_row = ~np.uint64(0) >> (np.uint64(64) - n_rows)
    for i in range(n_leaves):
        leaf = np.uint64(leaves[np.uint64(i)])
        v, most, targets = value[leaf], False, np.uint64(0)
        if a_ordered:  # a jump up and a jump down
            top = np.uint64(row_of[np.uint64(lower[leaf, a])])
            bottom = np.uint64(row_of[np.uint64(upper[leaf, a]) + ONE])
            if top < bottom:
                targets = ONE << top
                targets |= (ONE << bottom) if bottom < n_rows else np.uint64(0)  # what is behind the last is left out
        else:
            k = first
            for row in range(n_rows):
                bit = (np.uint64(levels[leaf, a_group + k // BITS]) >> (k % BITS)) & ONE
                targets |= bit << np.uint64(row)
                k += step
            most = count_of_bits(targets) > n_rows >> ONE
            targets = targets ^ every_row if most else targets
        for _ in range(count_of_bits(targets) + np.uint64(most)):
            at = (n_rows if most else np.uint64(trailing_zeros(targets))) * stride
            if b_ordered:
                plane[at + np.uint64(lower[leaf, b])] += v
                plane[at + np.uint64(upper[leaf, b]) + ONE] -= v
            else:
                for g in range(b_groups):
                    add_to_levels(plane, at + np.uint64(g) * BITS, levels, leaf, b_group + np.uint64(g), v)
            v = -v if most or a_ordered else v
            targets = targets if most else targets & (targets - ONE)
            most = False


@njit(nogil=True, fastmath=FAST, error_model="numpy")
def weigh_plane(
    columns, sets, outer, inner, rows, row_of, leaves, n_leaves, base, cold, plane, weight, energy, row_top
):
    """Write (plane + base) * cold of some rows to ``weight``, without the outer base; returns the largest with it.

    ``rows`` and ``row_of`` are from ``spread_rows``. ``plane`` must be zero, and is again afterwards, as must be
    ``energy``, room for a row and LANES more. ``row_top`` gets the largest of each row, the outer base with it.
    """
    n_rows, n = np.uint64(rows[2]), np.uint64(columns.start[inner + 1] - columns.start[inner])
    stride = n + BITS
    _add_to_plane(columns, sets, outer, inner, rows, row_of, leaves, n_leaves, plane, stride)
    ordered, inner_ordered = columns.ordered[outer], columns.ordered[inner]
    inner_first = np.uint64(columns.start[inner])
    first, step = np.uint64(columns.start[outer] + rows[0]), np.uint64(rows[1])
    common = n_rows * stride
    if not ordered:  # of what is common to all rows, each row is a change
        for i in range(stride):
            energy[np.uint64(i)] = plane[common + np.uint64(i)]
            plane[common + np.uint64(i)] = 0
    best = np.float32(-3e38)
    for k in range(n_rows):
        at, start = np.uint64(k) * stride, np.uint64(k) * n
        if ordered and inner_ordered:  # rows are sums of the jumps of all rows so far
            top = add_row_of_jumps(energy, base, inner_first, cold, n, weight, start, plane, at)
        elif ordered:
            top = add_row_of_values(energy, base, inner_first, cold, n, weight, start, plane, at)
        elif inner_ordered:
            top = weigh_row_of_jumps(energy, base, inner_first, cold, n, weight, start, plane, at)
        else:
            top = weigh_row_of_values(energy, base, inner_first, cold, n, weight, start, plane, at)
        row_top[np.uint64(k)] = top + base[first + np.uint64(k) * step] * cold
        best = max(best, row_top[np.uint64(k)])
    for i in range(stride):  # what is left: the sum of all rows, and the jumps behind the last
        energy[np.uint64(i)] = 0
        plane[common + np.uint64(i)] = 0
    return best


@njit(nogil=True, fastmath=FAST, error_model="numpy")
def draw_pair(
    columns, sets, outer, inner, leaves, n_leaves, base, cold, plane, weight, energy, row_sum, row_of, code, uniforms
):
    """Draw the codes of two columns from softmax((plane + base) * cold), given the leaves reached along both.

    ``code`` is the present one of the outer column; three ``uniforms`` decide. ``plane``, ``weight`` and ``energy`` are
    as for ``weigh_plane``, ``row_sum`` and ``row_of`` room for a number for each row, and for each code of the outer
    column and one more.
    """
    rows = spread_rows(columns.size[outer], np.int64(code), uniforms[2], row_of)
    n_rows, n = np.uint64(rows[2]), np.uint64(columns.start[inner + 1] - columns.start[inner])
    best = weigh_plane(
        columns, sets, outer, inner, rows, row_of, leaves, n_leaves, base, cold, plane, weight, energy, row_sum
    )
    first, step = np.uint64(columns.start[outer] + rows[0]), np.uint64(rows[1])
    total = np.float64(0)  # of many rows
    for k in range(n_rows):
        top = row_sum[np.uint64(k)]
        row_sum[np.uint64(k)] = 0
        if best - top < NEGLIGIBLE:
            shift = base[first + np.uint64(k) * step] * cold
            row_sum[np.uint64(k)] = exponentiate(weight, np.uint64(k) * n, n, best - shift)
            total += np.float64(row_sum[np.uint64(k)])
    rest, chosen = np.float64(uniforms[0]) * total, np.uint64(0)
    for k in range(n_rows):
        if row_sum[np.uint64(k)] > 0:
            chosen = np.uint64(k)  # the last row with any weight met: rounding must not lead past it
            if rest < np.float64(row_sum[chosen]):
                break
            rest -= np.float64(row_sum[chosen])
    return np.uint64(rows[0]) + chosen * step, pick(weight, chosen * n, n, uniforms[1] * row_sum[chosen])
