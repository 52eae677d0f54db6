"""Turning a finished tree into the leaf sets that slices are computed from."""

import numpy as np
from numba import njit

from energyboost.kernels.arrays import FAN, LANES


@njit(nogil=True, cache=True)
def _spans(tree):
    """The leaves below each node are the run begin .. end - 1, of which those below its left side end at middle."""
    n_nodes = tree.column.shape[0]
    begin, middle, end = np.zeros(n_nodes, np.int64), np.zeros(n_nodes, np.int64), np.zeros(n_nodes, np.int64)
    size = np.zeros(n_nodes, np.int64)
    for n in range(n_nodes - 1, -1, -1):  # children stand behind their parents
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
    return begin, middle, end


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
    begin, middle, end = _spans(tree)
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
def _same(admits, level, other):
    for leaf in range(admits.shape[0]):
        if admits[leaf, level] != admits[leaf, other]:
            return False
    return True


@njit(nogil=True, cache=True)
def slot_boxes(low, high, admits, slot_of_leaf):
    """The boxes of slots, which are subtrees: a slot admits a code where any of its leaves does."""
    n_columns, n_leaves = low.shape
    n_slots = slot_of_leaf[n_leaves - 1] + 1
    slot_low, slot_high = np.empty((n_columns, n_slots), np.int64), np.zeros((n_columns, n_slots), np.int64)
    slot_admits = np.zeros((n_slots, admits.shape[1]), np.bool_)
    for leaf in range(n_leaves - 1, -1, -1):
        slot = slot_of_leaf[leaf]
        last = leaf == n_leaves - 1 or slot_of_leaf[leaf + 1] != slot
        for j in range(n_columns):
            slot_low[j, slot] = low[j, leaf] if last else min(slot_low[j, slot], low[j, leaf])
            slot_high[j, slot] = max(slot_high[j, slot], high[j, leaf])
        for k in range(admits.shape[1]):
            slot_admits[slot, k] |= admits[leaf, k]
    return slot_low, slot_high, slot_admits


@njit(nogil=True, cache=True)
def add_rows(columns, tree, low, high, admits, words, first_row, step):
    """Write the rows of ``words`` of a tree and its ``step``, given the boxes of its slots; returns the number of rows.

    Row 0 admits every slot and serves the columns that the tree never splits on. ``words`` must be all zero from there,
    for as many rows as the tree has leaves, columns and levels of unordered columns, and 1.
    """
    n_slots = low.shape[1]
    one = np.uint64(1)
    for slot in range(n_slots):
        words[first_row, slot >> 6] |= one << np.uint64(slot & 63)
    used = np.zeros(columns.size.shape[0], np.bool_)
    for j in tree.column:
        used[j] = True
    n_rows = 1
    cuts, key = np.zeros(columns.start[-1], np.bool_), np.empty(columns.start[-1], np.uint64)
    distinct = np.empty(columns.start[-1], np.int64)  # codes with a row of their own
    for j in range(columns.size.shape[0]):
        start, size, level = columns.start[j], columns.size[j], columns.level_start[j]
        if not used[j]:
            step[start : start + size] = 0
            continue
        key[:size], n_distinct = 0, 0
        if columns.ordered[j]:
            cuts[:size] = False
            for slot in range(n_slots):
                cuts[low[j, slot]] = True
        for k in range(size):
            same = -1  # an earlier code that the same slots admit
            if columns.ordered[j]:
                same = k - 1 if not cuts[k] else -1
            else:
                for slot in range(n_slots):
                    key[k] = key[k] * np.uint64(6364136223846793005) + np.uint64(admits[slot, level + k])
                for i in range(n_distinct):
                    if key[distinct[i]] == key[k] and _same(admits, level + distinct[i], level + k):
                        same = distinct[i]
                        break
            if same >= 0:
                step[start + k] = step[start + same]
                continue
            step[start + k] = n_rows
            distinct[n_distinct] = k
            n_distinct += 1
            for slot in range(n_slots):
                inside = low[j, slot] <= k < high[j, slot] if columns.ordered[j] else admits[slot, level + k]
                if inside:
                    words[first_row + n_rows, slot >> 6] |= one << np.uint64(slot & 63)
            n_rows += 1
    return n_rows


@njit(nogil=True, cache=True)
def add_leaves(columns, low, high, admits, values, first, sets):
    """Write what slices read of each reached leaf; the leaves stand from ``first`` on."""
    for leaf in range(low.shape[1]):
        at = first + leaf
        sets.value[at] = sets.box_value[at] = values[leaf]
        for j in range(columns.size.shape[0]):
            if not columns.ordered[j]:
                for k in range(columns.size[j]):
                    if admits[leaf, columns.level_start[j] + k]:
                        sets.levels[at, sets.levels_start[j] + k // LANES] |= np.uint16(1 << (k % LANES))
            else:
                sets.lower[at, j] = low[j, leaf]
                sets.box_lower[at, j], sets.box_upper[at, j] = low[j, leaf], high[j, leaf] - 1


@njit(nogil=True, cache=True)
def group_leaves(tree, child, group):
    """Cut a tree into its largest subtrees of at most FAN children, where ``child`` numbers those of the leaves.

    Numbers the subtrees from left to right: writes to ``group`` which one each leaf is in, returns how many there are.
    """
    middle, n_groups = _spans(tree)[1], 0
    stack = [(np.int64(0) if tree.column.shape[0] else np.int64(-1), np.int64(0), np.int64(tree.leaf_value.shape[0]))]
    while stack:
        node, first, last = stack.pop()
        if child[last - 1] - child[first] < FAN:
            group[first:last] = n_groups
            n_groups += 1
            continue
        stack.append((np.int64(tree.right[node]), middle[node], last))
        stack.append((np.int64(tree.left[node]), first, middle[node]))
    return n_groups


@njit(nogil=True, cache=True)
def add_treelets(columns, tree, child, group, first_child, first_treelet, first_set, first_word, treelets):
    """Write the treelets of a tree, from ``first_treelet`` on; returns how many nodes split unordered columns."""
    n_leaves = tree.leaf_value.shape[0]
    n_treelets = group[n_leaves - 1] + 1
    first, one = np.empty(n_treelets, np.int64), np.int64(1)
    for leaf in range(n_leaves - 1, -1, -1):
        first[group[leaf]] = child[leaf]
    for g in range(n_treelets):
        treelets.first[first_treelet + g] = first_child + first[g]
        treelets.path[first_treelet + g] = one << (FAN - 1)
    for leaf in range(n_leaves):
        treelets.path[first_treelet + group[leaf], child[leaf] - first[group[leaf]]] = 0
    begin, middle, end = _spans(tree)
    n_sets = np.zeros(n_treelets, np.int64)
    inside = np.zeros(tree.column.shape[0], np.bool_)
    for n in range(tree.column.shape[0]):
        g = group[begin[n]]
        inside[n] = group[end[n] - 1] == g and child[end[n] - 1] > child[begin[n]]
        n_sets[g] += inside[n] and not columns.ordered[tree.column[n]]
    place = first_set + np.cumsum(n_sets) - n_sets
    treelets.set_start[first_treelet : first_treelet + n_treelets] = place
    treelets.n_sets[first_treelet : first_treelet + n_treelets] = n_sets
    for n in range(tree.column.shape[0]):
        if not inside[n]:
            continue
        g = group[begin[n]]
        low, cut, high = child[begin[n]] - first[g], child[middle[n]] - first[g], child[end[n] - 1] + 1 - first[g]
        if columns.ordered[tree.column[n]]:
            at, lane = first_treelet + g, cut - 1
            treelets.column[at, lane], treelets.threshold[at, lane] = tree.column[n], tree.threshold[n]
            for k in range(low, high):
                treelets.path[at, k] |= one << lane
        else:
            at, every = place[g], (one << FAN) - 1
            below_left, below_right = (one << cut) - (one << low), (one << high) - (one << cut)
            treelets.set_column[at], treelets.set_word[at] = tree.column[n], first_word + tree.mask_start[n]
            treelets.set_keep[at, 0], treelets.set_keep[at, 1] = every - below_right, every - below_left
            place[g] += 1
    return n_sets.sum()
