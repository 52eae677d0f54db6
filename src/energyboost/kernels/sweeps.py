"""Gibbs sweeps: every column of a chain drawn anew, one after the other, and some pairs of columns jointly."""

from functools import cache

import numpy as np
from numba import njit

from energyboost.kernels.arrays import FAN, LANES
from energyboost.kernels.draws import add_leaves, draw
from energyboost.kernels.pairs import draw_pair
from energyboost.kernels.reach import ALL, borrowed_columns, borrowed_sets, descend, first_slots, room, set_bits
from energyboost.kernels.sources import STAMP
from energyboost.kernels.vectors import FAST


@njit(nogil=True)
def _most_cells(columns, pairs, due):
    """The room that the largest of the pairs due takes: cells, cells of the plane with its margins, rows."""
    n_cells, n_plane, n_rows = 1, 1, 1
    for p in range(pairs.shape[0]):
        if not due[:, p].any():
            continue
        size, padded = columns.size[pairs[p, 0]], columns.start[pairs[p, 1] + 1] - columns.start[pairs[p, 1]]
        n_rows, n_cells = max(n_rows, size), max(n_cells, size * padded)
        n_plane = max(n_plane, (size + 1) * (padded + LANES))
    return n_cells, n_plane, n_rows


@cache
def sweeps(width):
    """The kernel of Gibbs sweeps for trees of ``width`` words."""
    stamp = STAMP

    @njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy")
    def sweep_chains(columns, sets, n_trees, base, cold, free, pairs, due, codes, uniforms, out):
        """Sweep over the ``free`` columns of every chain, ``uniforms.shape[1]`` times, in place.

        After sweep s, the ``pairs`` (n_pairs, 2) with ``due[s]`` are drawn jointly, outer and inner column.
        ``uniforms`` (n_chains, n_sweeps, n_free + 2 * n_pairs) decide the draws; the last ``out.shape[1]`` states are
        written to ``out`` (n_chains, n_kept, n_columns).
        """
        stamp  # noqa: B018
        columns, sets = borrowed_columns(columns), borrowed_sets(sets)
        n_chains, n_columns = codes.shape
        n_sweeps, n_free, n_pairs = uniforms.shape[1], free.shape[0], pairs.shape[0]
        n_words = n_trees * width
        words = sets.words.reshape(-1)
        behind = np.empty((max(1, n_free), n_words), np.uint64)  # AND over the columns still to come in this sweep
        before = np.empty(n_words, np.uint64)  # AND over the columns already swept and those held fixed
        reach, found, slots, others = room(sets, n_words)
        slot = first_slots(sets, 0, n_trees, width)
        longest = 0
        for j in range(n_columns):
            longest = max(longest, columns.start[j + 1] - columns.start[j])
        energy, weight = np.zeros(longest + LANES, np.float32), np.empty(longest, np.float32)
        n_cells, n_plane, n_rows = _most_cells(columns, pairs, due)
        plane, cells, row_sum = (
            np.zeros(n_plane, np.float32),
            np.empty(n_cells, np.float32),
            np.empty(n_rows, np.float32),
        )
        held = np.ones(n_columns, np.bool_)
        for i in range(n_free):
            held[free[i]] = False
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
            for j in range(n_columns):
                row_codes[j] = codes[c, j]
            for s in range(n_sweeps):
                for q in range(n_words):  # not a slice assignment: its error message takes seconds to compile
                    before[q] = every_slot[q]
                for j in range(n_columns):
                    if held[j]:
                        code = start[j] + row_codes[j]
                        for t in range(n_trees):
                            row = (np.uint64(tree_row[t]) + np.uint64(step[code, t])) * np.uint64(width)
                            for q in range(width):
                                before[np.uint64(t * width + q)] &= words[row + np.uint64(q)]
                for q in range(n_words):
                    behind[n_free - 1, q] = ALL
                for i in range(n_free - 1, 0, -1):
                    code = start[free[i]] + row_codes[free[i]]
                    for t in range(n_trees):
                        row = (np.uint64(tree_row[t]) + np.uint64(step[code, t])) * np.uint64(width)
                        for q in range(width):
                            at = np.uint64(t * width + q)
                            behind[i - 1, at] = behind[i, at] & words[row + np.uint64(q)]
                for i in range(n_free):
                    j = free[i]
                    if i == 0:
                        for q in range(n_words):
                            reach[q] = before[q] & behind[0, q]
                    else:
                        code = start[free[i - 1]] + row_codes[free[i - 1]]
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
                    row_codes[j] = codes[c, j] = draw(
                        ordered[j], energy, base, start[j], cold, size, weight, uniforms[c, s, i]
                    )
                for p in range(n_pairs):
                    if not due[s, p]:
                        continue
                    outer, inner = pairs[p, 0], pairs[p, 1]
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
                    u_outer, u_inner = uniforms[c, s, n_free + 2 * p], uniforms[c, s, n_free + 2 * p + 1]
                    drawn = draw_pair(
                        columns,
                        sets,
                        outer,
                        inner,
                        leaves,
                        n,
                        base,
                        cold,
                        plane,
                        cells,
                        energy,
                        row_sum,
                        u_outer,
                        u_inner,
                    )
                    row_codes[outer], row_codes[inner] = drawn
                    codes[c, outer], codes[c, inner] = drawn
                kept = s - (n_sweeps - out.shape[1])
                if kept >= 0:
                    for j in range(n_columns):
                        out[c, kept, j] = codes[c, j]

    return sweep_chains
