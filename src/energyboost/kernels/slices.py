"""Slices: the energy along one column with the others fixed.

The leaves that a row can reach along column i are the AND, over the other columns, of the leaf sets that their codes
admit. Along an ordered column these leaves are consecutive runs of codes, so a slice is a list of jumps, summed up
once at the end. Kernels are made per number of words in a tree (``width``), so that loops over words unroll.
"""

from functools import cache

import numpy as np
from numba import njit

from energyboost.kernels.arrays import FAN, LANES
from energyboost.kernels.draws import add_leaves
from energyboost.kernels.reach import descend, first_slots, room, set_bits
from energyboost.kernels.sources import STAMP
from energyboost.kernels.vectors import FAST


@cache
def slices(width):
    """The kernel of slices for trees of ``width`` words."""
    stamp = STAMP

    @njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy")
    def add_slices(columns, sets, first_tree, last_tree, codes, column, out):
        """Add the slices of some trees along ``column`` for every row.

        ``out`` (n_rows, padded codes + LANES) takes jumps for an ordered column and values for an unordered one.
        """
        stamp  # noqa: B018
        n_rows, n_columns = codes.shape
        n_trees = last_tree - first_tree
        n_words = n_trees * width
        words = sets.words.reshape(-1)
        reach, found, slots, others = room(sets, n_words)
        slot = first_slots(sets, first_tree, n_trees, width)
        n_groups = (columns.start[column + 1] - columns.start[column]) // LANES
        ordered, first_group = columns.ordered[column], sets.levels_start[column]
        start, tree_row, step = columns.start, sets.tree_row, sets.step
        value, lower, levels = sets.value, sets.lower, sets.levels
        treelets, n_levels = sets.treelets, sets.n_levels
        row_codes = np.zeros(n_columns + FAN, codes.dtype)  # with room for kernels that read FAN codes at once
        for i in range(n_rows):
            for j in range(n_columns):
                row_codes[j] = codes[i, j]
            for t in range(n_trees):
                row = np.uint64(tree_row[first_tree + t]) * np.uint64(width)
                for q in range(width):
                    reach[np.uint64(t * width + q)] = words[row + np.uint64(q)]
            for j in range(n_columns):
                if j == column:
                    continue
                code = start[j] + codes[i, j]
                for t in range(first_tree, last_tree):
                    row = (np.uint64(tree_row[t]) + np.uint64(step[code, t])) * np.uint64(width)
                    for q in range(width):
                        reach[np.uint64((t - first_tree) * width + q)] &= words[row + np.uint64(q)]
            n = set_bits(reach, slot, found, slots)
            leaves = slots
            if n_levels:
                leaves, n = descend(n_levels, treelets, value, row_codes, (np.uint64(column),), slots, n, others)
            add_leaves(value, lower, levels, first_group, ordered, column, n_groups, leaves, n, out[i])

    return add_slices
