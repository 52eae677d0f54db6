"""Trees as mixtures of boxes: every leaf is uniform inside its box, and columns that are not known are summed out.

A *weight* is given to every code, laid out as Columns says, as a running sum: codes lo <= k < hi of column j weigh
``below[start[j] + j + hi] - below[start[j] + j + lo]``. A walk visits the leaves whose boxes hold the known cells of a
row; along the other columns it keeps the box of the node it is at, and how much this box weighs.
"""

import numpy as np
from numba import njit
from numba.cpython.unsafe.numbers import trailing_zeros

ONE = np.uint64(1)
NOBODY = -1


@njit(nogil=True, cache=True)
def word_starts(columns):
    """Where the levels of each unordered column stand in the bits of a box."""
    starts = np.zeros(columns.size.shape[0] + 1, np.int64)
    for j in range(columns.size.shape[0]):
        starts[j + 1] = starts[j] + (0 if columns.ordered[j] else (columns.size[j] + 63) >> 6)
    return starts


@njit(nogil=True, cache=True)
def _whole(columns, words, low, high, bits):
    """The box that holds everything."""
    for j in range(columns.size.shape[0]):
        low[j], high[j] = 0, columns.size[j]
        for q in range(words[j], words[j + 1]):
            n = columns.size[j] - 64 * (q - words[j])
            bits[q] = ~np.uint64(0) if n >= 64 else (ONE << np.uint64(n)) - ONE


@njit(nogil=True, cache=True)
def _weight_of_levels(columns, below, words, bits, j):
    """What the levels of column j in a box weigh."""
    first, total = columns.start[j] + j, 0.0
    for q in range(words[j], words[j + 1]):
        word = bits[q]
        while word != np.uint64(0):
            k = first + 64 * (q - words[j]) + np.int64(trailing_zeros(word))
            total += below[k + 1] - below[k]
            word &= word - ONE
    return total


@njit(nogil=True, cache=True)
def _goes_left(trees, at, code):
    start = trees.mask_start[at]
    if start < 0:
        return code < trees.threshold[at]
    return (trees.mask_bits[start + (code >> 6)] >> np.uint64(code & 63)) & ONE != np.uint64(0)


@njit(nogil=True, cache=True)
def _narrow(columns, trees, below, words, at, left, low, high, bits):
    """Narrow a box to one side of a node; returns what it weighs along the node's column."""
    j = trees.column[at]
    if columns.ordered[j]:
        cut = trees.threshold[at]
        if left:
            high[j] = max(low[j], min(high[j], cut))
        else:
            low[j] = min(high[j], max(low[j], cut))
        first = columns.start[j] + j
        return below[first + high[j]] - below[first + low[j]]
    mask = trees.mask_start[at]
    for q in range(words[j], words[j + 1]):
        side = trees.mask_bits[mask + q - words[j]]
        bits[q] &= side if left else ~side
    return _weight_of_levels(columns, below, words, bits, j)


@njit(nogil=True, cache=True)
def depth_of(trees, first_tree, last_tree):
    """The most nodes on a way from a root to a leaf."""
    deepest = 0
    for t in range(first_tree, last_tree):
        first, n = trees.node_start[t], trees.node_start[t + 1] - trees.node_start[t]
        depth = np.ones(n, np.int64)
        for node in range(n):
            deepest = max(deepest, depth[node])
            for child in (trees.left[first + node], trees.right[first + node]):
                if child >= 0:
                    depth[child] = depth[node] + 1
    return deepest


@njit(nogil=True, cache=True)
def walk(
    columns, trees, value, below, words, whole, tree, row, known, target, out, limit, depth, low, high, bits, saved_bits
):
    """Visit the leaves of a tree whose boxes hold the known cells of a row; returns what they weigh in all.

    A leaf weighs its ``value`` (the density inside it) times what its box weighs along every column that is neither
    known nor the ``target``. Along the target (a column, or NOBODY) it is added to ``out``: at its first code and taken
    off behind its last, or at each of its levels. The walk ends at the leaf with which the sum exceeds ``limit``, and
    ``low``, ``high`` and ``bits`` are then its box. They must be the whole box before, and are again after a full walk;
    ``whole`` holds what each column weighs in all.

    The others are room: ``depth`` is the deepest tree's, ``saved_bits`` (depth, words).
    """
    first = trees.node_start[tree]
    first_leaf = trees.leaf_start[tree]
    stack = np.empty(2 * depth + 2, np.int64)  # nodes, or below -1 - n_nodes: undo level
    side = np.empty(2 * depth + 2, np.int64)  # the parent and the side to narrow to: 2 * parent + left, or -1
    undo_column, undo_low, undo_high = np.empty(depth, np.int64), np.empty(depth, np.int64), np.empty(depth, np.int64)
    undo_weight = np.empty(depth)
    n_stack, n_undo, total = 1, 0, 0.0
    stack[0], side[0] = (0 if trees.node_start[tree + 1] > first else ~0), -1
    weight = 1.0
    for j in range(columns.size.shape[0]):
        if not known[j] and j != target:
            weight *= whole[j]
    undo_mark = np.int64(-(1 << 62))
    while n_stack:
        n_stack -= 1
        node = stack[n_stack]
        if node == undo_mark:
            n_undo -= 1
            j = undo_column[n_undo]
            low[j], high[j], weight = undo_low[n_undo], undo_high[n_undo], undo_weight[n_undo]
            for q in range(words[j], words[j + 1]):
                bits[q] = saved_bits[n_undo, q]
            continue
        if side[n_stack] >= 0:
            at = first + (side[n_stack] >> 1)
            j = trees.column[at]
            undo_column[n_undo], undo_low[n_undo], undo_high[n_undo] = j, low[j], high[j]
            undo_weight[n_undo] = weight
            before = 1.0
            if j != target:
                if columns.ordered[j]:
                    here = columns.start[j] + j
                    before = below[here + high[j]] - below[here + low[j]]
                else:
                    before = _weight_of_levels(columns, below, words, bits, j)
            for q in range(words[j], words[j + 1]):
                saved_bits[n_undo, q] = bits[q]
            n_undo += 1
            after = _narrow(columns, trees, below, words, at, side[n_stack] & 1 == 1, low, high, bits)
            stack[n_stack], side[n_stack] = undo_mark, -1
            n_stack += 1
            if after <= 0.0:
                continue
            if j != target:
                weight *= after / before
        while node >= 0:
            at = first + node
            j = trees.column[at]
            if known[j]:
                node = trees.left[at] if _goes_left(trees, at, row[j]) else trees.right[at]
                continue
            stack[n_stack], side[n_stack] = trees.right[at], 2 * node
            stack[n_stack + 1], side[n_stack + 1] = trees.left[at], 2 * node + 1
            n_stack += 2
            break
        if node < 0:
            mass = value[first_leaf + ~node] * weight
            total += mass
            if target >= 0:
                if columns.ordered[target]:
                    out[low[target]] += mass
                    out[high[target]] -= mass
                else:
                    for q in range(words[target], words[target + 1]):
                        word = bits[q]
                        while word != np.uint64(0):
                            out[64 * (q - words[target]) + np.int64(trailing_zeros(word))] += mass
                            word &= word - ONE
            if total > limit:
                return total
    return total


@njit(nogil=True, cache=True)
def marginals(columns, trees, value, below, codes, known, target, out):
    """Add to ``out`` (n_rows, codes of the target and one more) the density of each row's known cells, along a column.

    Without a target (NOBODY), ``out`` has one number for each row. Tree by tree, to stay cached.
    """
    n_columns = columns.size.shape[0]
    words = word_starts(columns)
    n_trees = trees.node_start.shape[0] - 1
    depth = depth_of(trees, 0, n_trees) + 1
    low, high = np.empty(n_columns, np.int64), np.empty(n_columns, np.int64)
    bits = np.empty(max(words[-1], 1), np.uint64)
    saved_bits = np.empty((depth, max(words[-1], 1)), np.uint64)
    whole = np.empty(n_columns)
    for j in range(n_columns):
        whole[j] = below[columns.start[j] + j + columns.size[j]] - below[columns.start[j] + j]
    _whole(columns, words, low, high, bits)
    for t in range(n_trees):
        for i in range(codes.shape[0]):
            total = walk(
                columns, trees, value, below, words, whole, t, codes[i], known[i], target, out[i], np.inf, depth,
                low, high, bits, saved_bits,
            )  # fmt: skip
            if target < 0:
                out[i, 0] += total


@njit(nogil=True, cache=True)
def tree_weights(columns, trees, value, below, codes, known, out):
    """Write what each tree weighs given the known cells of each row, (n_rows, n_trees)."""
    n_columns = columns.size.shape[0]
    words = word_starts(columns)
    n_trees = trees.node_start.shape[0] - 1
    depth = depth_of(trees, 0, n_trees) + 1
    low, high = np.empty(n_columns, np.int64), np.empty(n_columns, np.int64)
    bits = np.empty(max(words[-1], 1), np.uint64)
    saved_bits = np.empty((depth, max(words[-1], 1)), np.uint64)
    whole, nothing = np.empty(n_columns), np.empty(0)
    for j in range(n_columns):
        whole[j] = below[columns.start[j] + j + columns.size[j]] - below[columns.start[j] + j]
    _whole(columns, words, low, high, bits)
    for t in range(n_trees):
        for i in range(codes.shape[0]):
            out[i, t] = walk(
                columns, trees, value, below, words, whole, t, codes[i], known[i], NOBODY, nothing, np.inf, depth,
                low, high, bits, saved_bits,
            )  # fmt: skip


@njit(nogil=True, cache=True)
def _draw_inside(columns, below, words, known, low, high, bits, uniforms, row):
    """Draw every column that is not known from its weights inside a box."""
    for j in range(columns.size.shape[0]):
        if known[j]:
            continue
        first = columns.start[j] + j
        if columns.ordered[j]:
            reach = below[first + low[j]] + uniforms[j] * (below[first + high[j]] - below[first + low[j]])
            k = low[j] + np.searchsorted(below[first + low[j] + 1 : first + high[j]], reach, side="right")
            row[j] = k
            continue
        rest = uniforms[j] * _weight_of_levels(columns, below, words, bits, j)
        for q in range(words[j], words[j + 1]):
            word = bits[q]
            while word != np.uint64(0):
                k = 64 * (q - words[j]) + np.int64(trailing_zeros(word))
                share = below[first + k + 1] - below[first + k]
                if share > 0:
                    row[j] = k  # the last level with any weight met: rounding must not lead past it
                    if rest < share:
                        rest = np.inf
                        break
                    rest -= share
                word &= word - ONE
            if rest == np.inf:
                break


@njit(nogil=True, cache=True)
def draw(columns, trees, value, below, tree, known, uniforms, codes):
    """Draw the cells of each row that are not known from a tree given the others: a leaf, then every column in its box.

    ``uniforms`` (n_rows, 1 + n_columns) decide.
    """
    n_columns = columns.size.shape[0]
    words = word_starts(columns)
    depth = depth_of(trees, 0, trees.node_start.shape[0] - 1) + 1
    low, high = np.empty(n_columns, np.int64), np.empty(n_columns, np.int64)
    bits = np.empty(max(words[-1], 1), np.uint64)
    saved_bits = np.empty((depth, max(words[-1], 1)), np.uint64)
    whole, nothing = np.empty(n_columns), np.empty(0)
    for j in range(n_columns):
        whole[j] = below[columns.start[j] + j + columns.size[j]] - below[columns.start[j] + j]
    for i in range(codes.shape[0]):
        _whole(columns, words, low, high, bits)
        total = walk(
            columns, trees, value, below, words, whole, tree[i], codes[i], known[i], NOBODY, nothing, np.inf, depth,
            low, high, bits, saved_bits,
        )  # fmt: skip
        limit = min(uniforms[i, 0], 1 - 1e-12) * total  # rounding must not lead past the last leaf
        walk(
            columns, trees, value, below, words, whole, tree[i], codes[i], known[i], NOBODY, nothing, limit, depth,
            low, high, bits, saved_bits,
        )  # fmt: skip
        _draw_inside(columns, below, words, known[i], low, high, bits, uniforms[i, 1:], codes[i])


@njit(nogil=True, cache=True)
def draw_freely(columns, trees, mass, below, tree, uniforms, codes):
    """Draw whole rows from trees: ``mass`` (n_nodes) is what of a tree is below each node's left side, as a share."""
    n_columns = columns.size.shape[0]
    words = word_starts(columns)
    low, high = np.empty(n_columns, np.int64), np.empty(n_columns, np.int64)
    bits = np.empty(max(words[-1], 1), np.uint64)
    known = np.zeros(n_columns, np.bool_)
    for i in range(codes.shape[0]):
        _whole(columns, words, low, high, bits)
        first = trees.node_start[tree[i]]
        node, reach = (0 if trees.node_start[tree[i] + 1] > first else -1), uniforms[i, 0]
        while node >= 0:
            at = first + node
            left = reach < mass[at]
            # the same number, scaled to the side it is in, decides at the next node
            reach = reach / mass[at] if left else (reach - mass[at]) / (1 - mass[at])
            _narrow(columns, trees, below, words, at, left, low, high, bits)
            node = trees.left[at] if left else trees.right[at]
        _draw_inside(columns, below, words, known, low, high, bits, uniforms[i, 1:], codes[i])


@njit(nogil=True, cache=True)
def left_masses(trees, share, out):
    """What of a tree's probability is below the left side of each node, as a share of what is below the node.

    ``share`` is that of every leaf. Where nothing is below a node, any way will do.
    """
    below = np.zeros(trees.column.shape[0])
    for t in range(trees.node_start.shape[0] - 1):
        first, first_leaf = trees.node_start[t], trees.leaf_start[t]
        for at in range(trees.node_start[t + 1] - 1, first - 1, -1):  # children stand behind their parents
            left, right = trees.left[at], trees.right[at]
            on_left = share[first_leaf + ~left] if left < 0 else below[first + left]
            on_right = share[first_leaf + ~right] if right < 0 else below[first + right]
            below[at] = on_left + on_right
            out[at] = on_left / below[at] if below[at] > 0 else 0.5
