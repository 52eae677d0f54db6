"""Turning a finished tree into the leaf sets that slices are computed from."""

import numpy as np
from numba import njit

from energyboost.kernels.arrays import LANES


@njit(nogil=True, cache=True)
def leaf_boxes(columns, tree):
    """For every code of every column, the leaves that admit it: lower and upper code, or a table for unordered columns.

    Returns ``low, high`` (n_columns, n_leaves; codes low <= k < high) and ``admits`` (n_leaves, n_levels), whose levels
    are those of the unordered columns, laid out as ``columns.level_start`` says.
    """
    n_columns = columns.size.shape[0]
    n_nodes, n_leaves = tree.column.shape[0], tree.leaf_value.shape[0]
    low, high = np.zeros((n_columns, n_leaves), np.int64), np.empty((n_columns, n_leaves), np.int64)
    for j in range(n_columns):
        high[j] = columns.size[j]
    admits = np.ones((n_leaves, columns.level_start[-1]), np.bool_)
    # the leaves below a node are the run begin .. end - 1; children stand behind their parents
    begin, end = np.zeros(n_nodes, np.int64), np.zeros(n_nodes, np.int64)
    middle = np.zeros(n_nodes, np.int64)
    size = np.zeros(n_nodes, np.int64)
    for n in range(n_nodes - 1, -1, -1):
        left, right = tree.left[n], tree.right[n]
        size[n] = (1 if left < 0 else size[left]) + (1 if right < 0 else size[right])
    for n in range(n_nodes):
        end[n] = begin[n] + size[n]
        left, right = tree.left[n], tree.right[n]
        middle[n] = begin[n] + (1 if left < 0 else size[left])
        if left >= 0:
            begin[left] = begin[n]
        if right >= 0:
            begin[right] = middle[n]
    for n in range(n_nodes):
        j = tree.column[n]
        if columns.ordered[j]:
            cut = tree.threshold[n]
            for leaf in range(begin[n], middle[n]):
                high[j, leaf] = min(high[j, leaf], cut)
            for leaf in range(middle[n], end[n]):
                low[j, leaf] = max(low[j, leaf], cut)
            continue
        for k in range(columns.size[j]):
            goes_left = (tree.mask_bits[tree.mask_start[n] + (k >> 6)] >> np.uint64(k & 63)) & np.uint64(1) != 0
            first, last = (middle[n], end[n]) if goes_left else (begin[n], middle[n])
            for leaf in range(first, last):
                admits[leaf, columns.level_start[j] + k] = False
    return low, high, admits


@njit(nogil=True, cache=True)
def add_rows(columns, tree, low, high, admits, slot_of_leaf, words, first_row, step):
    """Write the rows of ``words`` of a tree and its ``step``; returns the number of rows.

    Row 0 admits every slot and serves the columns that the tree never splits on. ``words`` must be all zero from there,
    for as many rows as the tree has leaves, columns and levels of unordered columns, and 1.
    """
    n_leaves = low.shape[1]
    one = np.uint64(1)
    for leaf in range(n_leaves):
        slot = slot_of_leaf[leaf]
        words[first_row, slot >> 6] |= one << np.uint64(slot & 63)
    used = np.zeros(columns.size.shape[0], np.bool_)
    for j in tree.column:
        used[j] = True
    n_rows = 1
    cuts = np.zeros(columns.start[-1], np.bool_)
    for j in range(columns.size.shape[0]):
        start, size, level = columns.start[j], columns.size[j], columns.level_start[j]
        if not used[j]:
            step[start : start + size] = 0
            continue
        if columns.ordered[j]:
            cuts[:size] = False
            for leaf in range(n_leaves):
                cuts[low[j, leaf]] = True
        row = n_rows - 1
        for k in range(size):
            if columns.ordered[j]:
                fresh = cuts[k]
            else:
                fresh = k == 0
                if not fresh:
                    for leaf in range(n_leaves):
                        if admits[leaf, level + k] != admits[leaf, level + k - 1]:
                            fresh = True
                            break
            if fresh:
                row += 1
                for leaf in range(n_leaves):
                    inside = low[j, leaf] <= k < high[j, leaf] if columns.ordered[j] else admits[leaf, level + k]
                    if inside:
                        slot = slot_of_leaf[leaf]
                        words[first_row + row, slot >> 6] |= one << np.uint64(slot & 63)
            step[start + k] = row
        n_rows = row + 1
    return n_rows


@njit(nogil=True, cache=True)
def add_leaves(columns, low, admits, values, first, sets):
    """Write what slices read of each reached leaf; the leaves stand from ``first`` on."""
    for leaf in range(low.shape[1]):
        at = first + leaf
        sets.value[at] = values[leaf]
        for j in range(columns.size.shape[0]):
            if not columns.ordered[j]:
                for k in range(columns.size[j]):
                    if admits[leaf, columns.level_start[j] + k]:
                        sets.levels[at, sets.levels_start[j] + k // LANES] |= np.uint16(1 << (k % LANES))
            elif sets.lower.shape[0]:
                # A leaf from code 0 on is its tree's first along the column: its value is a constant of the slice. It
                # is dropped behind the last code, in one of several places so that drops do not wait for each other.
                padded = columns.start[j + 1] - columns.start[j]
                sets.lower[at, j] = low[j, leaf] if low[j, leaf] > 0 else padded + (at >> 6) % LANES


@njit(nogil=True, cache=True)
def add_blocks(columns, low, high, admits, block_of_leaf, first_leaf, first_block, sets):
    """Write the blocks of a tree whose leaves stand from ``first_leaf`` on, each with the boxes of its leaves."""
    n_columns = columns.size.shape[0]
    for leaf in range(low.shape[1]):
        block = first_block + block_of_leaf[leaf]
        if leaf == 0 or block_of_leaf[leaf - 1] != block_of_leaf[leaf]:
            sets.block_first[block] = first_leaf + leaf
        sets.block_size[block] += 1
    for leaf in range(low.shape[1]):
        block = first_block + block_of_leaf[leaf]
        first, size = np.int64(sets.block_first[block]), np.int64(sets.block_size[block])
        bit = first_leaf + leaf - first
        for j in range(n_columns):
            if columns.ordered[j]:
                at = 2 * (n_columns * first + j * size) + bit
                sets.block_box[at] = low[j, leaf]
                sets.block_box[at + size] = high[j, leaf] - 1
                continue
            for k in range(columns.level_start[j], columns.level_start[j + 1]):
                if admits[leaf, k]:
                    sets.block_levels[k, block] |= np.uint64(1) << np.uint64(bit)


@njit(nogil=True, cache=True)
def blocks_of_leaves(tree, block_of_leaf):
    """Cut a tree into subtrees of at most 64 leaves; returns their number. Leaf order is kept."""
    n_nodes = tree.column.shape[0]
    if n_nodes == 0:
        block_of_leaf[0] = 0
        return 1
    size = np.zeros(n_nodes, np.int64)
    for n in range(n_nodes - 1, -1, -1):
        left, right = tree.left[n], tree.right[n]
        size[n] = (1 if left < 0 else size[left]) + (1 if right < 0 else size[right])
    n_blocks, leaf = 0, 0
    stack = [np.int64(0)]
    while stack:
        node = stack.pop()
        leaves = 1 if node < 0 else size[node]
        if leaves <= 64:
            block_of_leaf[leaf : leaf + leaves] = n_blocks
            leaf += leaves
            n_blocks += 1
            continue
        stack.append(np.int64(tree.right[node]))
        stack.append(np.int64(tree.left[node]))
    return n_blocks
