"""Planes: the energy along two columns with the others fixed, of every combination of their codes."""

from functools import cache

import numpy as np
from numba import njit

from energyboost.kernels.arrays import FAN, LANES, PLANE_ROWS
from energyboost.kernels.draws import exponentiate
from energyboost.kernels.pairs import spread_rows, weigh_plane
from energyboost.kernels.reach import descend, first_slots, room, set_bits
from energyboost.kernels.sources import STAMP
from energyboost.kernels.vectors import FAST, aligned_zeros

NEVER = np.float32(1)  # as a uniform number, it makes rows a stride apart that does not vary


@cache
def planes(width):
    """The kernel of planes for trees of ``width`` words."""
    stamp = STAMP

    @njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy")
    def write_planes(columns, sets, n_trees, base, outer, inner, codes, out, top):
        """Write exp(energy - ``top``) of every code of two columns to ``out`` (n_rows, codes, padded inner codes).

        The energy is that of the trees and of the base of both columns; ``top`` (n_rows) gets the largest of each row.
        """
        stamp  # noqa: B018
        n_rows, n_columns = codes.shape
        n_words = n_trees * width
        words = sets.words.reshape(-1)
        reach, found, slots, others = room(sets, n_words)
        slot = first_slots(sets, 0, n_trees, width)
        start, tree_row, step = columns.start, sets.tree_row, sets.step
        value, treelets, n_levels = sets.value, sets.treelets, sets.n_levels
        size, padded = columns.size[outer], columns.start[inner + 1] - columns.start[inner]
        plane, weight = aligned_zeros((PLANE_ROWS + 1) * (padded + LANES)), aligned_zeros(PLANE_ROWS * padded)
        energy, row_top, row_of = aligned_zeros(padded + LANES), aligned_zeros(PLANE_ROWS), np.empty(size + 1, np.uint8)
        both = (np.uint64(outer), np.uint64(inner))
        row_codes = np.zeros(n_columns + FAN, codes.dtype)  # with room for kernels that read FAN codes at once
        for i in range(n_rows):
            for j in range(n_columns):
                row_codes[j] = codes[i, j]
            for t in range(n_trees):
                row = np.uint64(tree_row[t]) * np.uint64(width)
                for q in range(width):
                    reach[np.uint64(t * width + q)] = words[row + np.uint64(q)]
            for j in range(n_columns):
                if j == outer or j == inner:
                    continue
                code = start[j] + codes[i, j]
                for t in range(n_trees):
                    row = (np.uint64(tree_row[t]) + np.uint64(step[code, t])) * np.uint64(width)
                    for q in range(width):
                        reach[np.uint64(t * width + q)] &= words[row + np.uint64(q)]
            n = set_bits(reach, slot, found, slots)
            leaves = slots
            if n_levels:
                leaves, n = descend(n_levels, treelets, value, row_codes, both, slots, n, others)
            top[i] = np.float32(-3e38)
            flat = out[i].reshape(-1)
            for code in range((size + PLANE_ROWS - 1) // PLANE_ROWS):
                rows = spread_rows(size, code, NEVER, row_of)
                best = weigh_plane(
                    columns, sets, outer, inner, rows, row_of, leaves, n, base, np.float32(1), plane, weight, energy,
                    row_top,
                )  # fmt: skip
                top[i] = max(top[i], best)
                for k in range(rows[2]):
                    at = rows[0] + k * rows[1]
                    for code_b in range(padded):
                        flat[at * padded + code_b] = weight[k * padded + code_b] + base[start[outer] + at]
            exponentiate(flat, 0, size * padded, top[i])

    return write_planes
