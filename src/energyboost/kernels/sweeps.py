"""Gibbs sweeps: every column of a chain drawn anew, one after the other, and some pairs of columns jointly."""

from functools import cache

import numpy as np
from numba import njit

from energyboost.kernels.arrays import FAN, LANES, PLANE_ROWS
from energyboost.kernels.draws import add_leaves, draw
from energyboost.kernels.pairs import draw_pair
from energyboost.kernels.reach import ALL, borrowed_columns, borrowed_sets, descend, first_slots, room, set_bits
from energyboost.kernels.sources import STAMP
from energyboost.kernels.vectors import FAST, aligned_zeros


@njit(nogil=True)
def _most_cells(columns, pairs, due):
    """The room that the largest of the pairs due takes: cells, cells of the plane with its margins, outer codes."""
    n_cells, n_plane, n_codes = 1, 1, 1
    for p in range(pairs.shape[0]):
        if not due[:, p].any():
            continue
        size, padded = columns.size[pairs[p, 0]], columns.start[pairs[p, 1] + 1] - columns.start[pairs[p, 1]]
        n_rows = min(size, PLANE_ROWS)
        n_codes, n_cells = max(n_codes, size), max(n_cells, n_rows * padded)
        n_plane = max(n_plane, (n_rows + 1) * (padded + LANES))
    return n_cells, n_plane, n_codes


@cache
def sweeps(width):
    """The kernel of Gibbs sweeps for trees of ``width`` words."""
    stamp = STAMP

    @njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy")
    def sweep_chains(columns, sets, n_trees, base, cold, free, reflected, pairs, due, codes, uniforms, out):
        """Sweep over the ``free`` (n_chains, n_columns) columns of every chain, ``uniforms.shape[1]`` times, in place.

        Ordered columns are ``reflected[s]`` in sweep s, or drawn anew. After it, the ``pairs`` (n_pairs, 2) with
        ``due[s]`` of which both columns are free are drawn jointly, outer and inner column. ``uniforms`` (n_chains,
        n_sweeps, n_columns + 3 * n_pairs) decide the draws; the last ``out.shape[1]`` states are written to ``out``
        (n_chains, n_kept, n_columns).
        """
        stamp  # noqa: B018
        columns, sets = borrowed_columns(columns), borrowed_sets(sets)
        n_chains, n_columns = codes.shape
        n_sweeps, n_pairs = uniforms.shape[1], pairs.shape[0]
        n_words = n_trees * width
        words = sets.words.reshape(-1)
        behind = np.empty((n_columns, n_words), np.uint64)  # AND over the columns still to come in this sweep
        before = np.empty(n_words, np.uint64)  # AND over the columns already swept and those held fixed
        reach, found, slots, others = room(sets, n_words)
        slot = first_slots(sets, 0, n_trees, width)
        longest = 0
        for j in range(n_columns):
            longest = max(longest, columns.start[j + 1] - columns.start[j])
        energy, weight = aligned_zeros(longest + LANES), aligned_zeros(longest)
        n_cells, n_plane, n_codes = _most_cells(columns, pairs, due)
        plane, cells = aligned_zeros(n_plane), aligned_zeros(n_cells)
        row_sum, row_of = np.empty(PLANE_ROWS, np.float32), np.empty(n_codes + 1, np.uint8)
        moving = np.empty(n_columns, np.int64)  # the free columns of a chain
        every_slot = np.empty(n_words, np.uint64)
        for t in range(n_trees):
            row = np.uint64(sets.tree_row[t]) * np.uint64(width)
            for q in range(width):
                every_slot[np.uint64(t * width + q)] = words[row + np.uint64(q)]
        start, ordered, tree_row, step = columns.start, columns.ordered, sets.tree_row, sets.step
        value, lower, levels, levels_start = sets.value, sets.lower, sets.levels, sets.levels_start
        treelets, n_levels = sets.treelets, sets.n_levels
        row_codes = np.zeros(n_columns + FAN, codes.dtype)  # with room for kernels that read FAN codes at once
        for c in range(n_chains):
            n_free = 0
            for j in range(n_columns):
                row_codes[j] = codes[c, j]
                if free[c, j]:
                    moving[n_free] = j
                    n_free += 1
            for s in range(n_sweeps):
                for q in range(n_words):  # not a slice assignment: its error message takes seconds to compile
                    before[q] = every_slot[q]
                for j in range(n_columns):
                    if not free[c, j]:
                        code = start[j] + row_codes[j]
                        for t in range(n_trees):
                            row = (np.uint64(tree_row[t]) + np.uint64(step[code, t])) * np.uint64(width)
                            for q in range(width):
                                before[np.uint64(t * width + q)] &= words[row + np.uint64(q)]
                for q in range(n_words):
                    behind[max(n_free, 1) - 1, q] = ALL
                for i in range(n_free - 1, 0, -1):
                    code = start[moving[i]] + row_codes[moving[i]]
                    for t in range(n_trees):
                        row = (np.uint64(tree_row[t]) + np.uint64(step[code, t])) * np.uint64(width)
                        for q in range(width):
                            at = np.uint64(t * width + q)
                            behind[i - 1, at] = behind[i, at] & words[row + np.uint64(q)]
                for i in range(n_free):
                    j = moving[i]
                    if i == 0:
                        for q in range(n_words):
                            reach[q] = before[q] & behind[0, q]
                    else:
                        code = start[moving[i - 1]] + row_codes[moving[i - 1]]
                        for t in range(n_trees):
                            row = (np.uint64(tree_row[t]) + np.uint64(step[code, t])) * np.uint64(width)
                            for q in range(width):
                                at = np.uint64(t * width + q)
                                word = before[at] & words[row + np.uint64(q)]
                                before[at] = word
                                reach[at] = word & behind[i, at]
                    n = set_bits(reach, slot, found, slots)
                    leaves = slots
                    if n_levels:
                        leaves, n = descend(n_levels, treelets, value, row_codes, (np.uint64(j),), slots, n, others)
                    size = start[j + 1] - start[j]
                    add_leaves(value, lower, levels, levels_start[j], ordered[j], j, size // LANES, leaves, n, energy)
                    drawn = draw(
                        ordered[j], energy, base, start[j], cold, size, weight, uniforms[c, s, j],
                        reflected[s] and ordered[j], row_codes[j],
                    )  # fmt: skip
                    row_codes[j] = codes[c, j] = drawn
                for p in range(n_pairs):
                    outer, inner = pairs[p, 0], pairs[p, 1]
                    if not (due[s, p] and free[c, outer] and free[c, inner]):
                        continue
                    for q in range(n_words):
                        reach[q] = every_slot[q]
                    for j in range(n_columns):
                        if j != outer and j != inner:
                            code = start[j] + row_codes[j]
                            for t in range(n_trees):
                                row = (np.uint64(tree_row[t]) + np.uint64(step[code, t])) * np.uint64(width)
                                for q in range(width):
                                    reach[np.uint64(t * width + q)] &= words[row + np.uint64(q)]
                    n = set_bits(reach, slot, found, slots)
                    leaves = slots
                    if n_levels:
                        both = (np.uint64(outer), np.uint64(inner))
                        leaves, n = descend(n_levels, treelets, value, row_codes, both, slots, n, others)
                    both_drawn = draw_pair(
                        columns, sets, outer, inner, leaves, n, base, cold, plane, cells, energy, row_sum, row_of,
                        row_codes[outer], uniforms[c, s, n_columns + 3 * p :],
                    )  # fmt: skip
                    row_codes[outer], row_codes[inner] = both_drawn
                    codes[c, outer], codes[c, inner] = both_drawn
                kept = s - (n_sweeps - out.shape[1])
                if kept >= 0:
                    for j in range(n_columns):
                        out[c, kept, j] = codes[c, j]

    return sweep_chains
