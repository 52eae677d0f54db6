"""Growing one tree on the histograms of the data P and of a reference Q, best split first.

The reference is a pool of model rows (counts, exact and subtractable) or a product of column distributions
(round 1, where q_0 is known exactly). Everything that is compared between leaves is an integer count or is
computed from one in a fixed order, so the same input gives the same tree to the byte.
"""

from heapq import heappop, heappush
from typing import NamedTuple

import numpy as np
from numba import njit

MIN_GAIN = 1e-12  # below the resolution of counts: rounding must not look like a gain
SLOT_BYTES = 1 << 26  # histograms kept for subtraction; a leaf without one is counted anew


class Limits(NamedTuple):
    """What stops a tree from growing."""

    max_leaves: int
    max_ratio: float
    min_samples_leaf: int
    breadth_first: bool
    by_likelihood: bool  # splits gain by P log(P/Q) [eq:det-kl-split], and not by P²/Q [eq:split]


class Reference(NamedTuple):
    """Q: rows of the pool, or (with no rows) the probability of every code under a product of columns."""

    codes: np.ndarray  # (n_pool, n_columns)
    probability: np.ndarray  # float64, laid out as Columns says


class Growing(NamedTuple):
    """A growing tree: split n made leaf ``split_leaf[n]`` into itself (left) and leaf n + 1 (right)."""

    split_leaf: np.ndarray  # int32 (max_leaves,)
    column: np.ndarray  # int32 (max_leaves,)
    threshold: np.ndarray  # int32 (max_leaves,)
    mask: np.ndarray  # uint64 (max_leaves, words per mask): levels going left
    count: np.ndarray  # int64 (max_leaves,): data rows of a leaf (the sum of their weights), P
    reference: np.ndarray  # float64 (max_leaves,): pool rows of a leaf, or its probability, Q
    rows: np.ndarray  # int32 (n_rows,): data rows, leaf by leaf
    pool_rows: np.ndarray  # int32 (n_pool,): pool rows, leaf by leaf
    segment: np.ndarray  # int64 (max_leaves, 2): a leaf's part of ``rows``
    pool_segment: np.ndarray  # int64 (max_leaves, 2): a leaf's part of ``pool_rows``


class Open(NamedTuple):
    """What is known of the leaves that may still be split."""

    column: np.ndarray  # int32 (max_leaves,): of the best split, -1 where there is none
    threshold: np.ndarray  # int32 (max_leaves,)
    mask: np.ndarray  # uint64 (max_leaves, words per mask)
    reference_left: np.ndarray  # float64 (max_leaves,): Q going left
    slot: np.ndarray  # int64 (max_leaves,): where the leaf's histograms are, -1 if nowhere
    box: np.ndarray  # bool (max_leaves, n_codes): codes inside the leaf; for a product reference only
    count: np.ndarray  # int32 (n_slots, n_codes): histograms of the data
    pool_count: np.ndarray  # int32 (n_slots, n_codes): histograms of the pool
    free: np.ndarray  # int64 (n_slots + 1,): free slots, the last entry their number


@njit(nogil=True, cache=True)
def _copy(source, target):
    # in place of target[:] = source, whose error message alone takes seconds to compile
    for k in range(source.shape[0]):
        target[k] = source[k]


@njit(nogil=True, cache=True)
def _subtract(part, whole):
    for k in range(part.shape[0]):
        whole[k] -= part[k]


@njit(nogil=True, cache=True)
def _count(codes, weight, rows, first, last, start, out):
    """Count rows, each as often as ``weight`` says (empty: once)."""
    out[:] = 0
    n_columns = codes.shape[1]
    if weight.shape[0]:
        for i in range(first, last):
            row = rows[i]
            for j in range(n_columns):
                out[start[j] + codes[row, j]] += weight[row]
        return
    for i in range(first, last):
        row = rows[i]
        for j in range(n_columns):
            out[start[j] + codes[row, j]] += 1


@njit(nogil=True, cache=True)
def _size(weight, rows, first, last):
    """How many rows there are, each as often as its weight says."""
    if weight.shape[0] == 0:
        return last - first
    total = 0
    for i in range(first, last):
        total += weight[rows[i]]
    return total


@njit(nogil=True, cache=True)
def _product(columns, probability, box, total, out):
    """Q of every code inside a box under a product of columns."""
    out[:] = 0
    for j in range(columns.size.shape[0]):
        at, size = columns.start[j], columns.size[j]
        mass = 0.0
        for k in range(at, at + size):
            if box[k]:
                out[k] = probability[k]
                mass += probability[k]
        if mass > 0:
            for k in range(at, at + size):
                out[k] *= total / mass


@njit(nogil=True, cache=True, error_model="numpy")
def _best_threshold(p, q, order, p_all, q_all, scale, limits, best, scratch):
    """Best cut of one column's codes, taken in the given order, by P²/Q or P log(P/Q): (gain, cut, Q below it).

    The cut is 0 where nothing beats ``best`` [ssec:regularization says what is refused].
    """
    p_low, q_low, gains = scratch[0], scratch[1], scratch[2]
    n_cuts = (order.shape[0] if order.shape[0] else p.shape[0]) - 1
    p_sum, q_sum = 0.0, 0.0
    for i in range(n_cuts):
        k = order[i] if order.shape[0] else i
        p_sum += p[k]
        q_sum += q[k]
        p_low[i], q_low[i] = p_sum, q_sum
    whole = p_all * np.log(p_all / q_all) if limits.by_likelihood and p_all > 0 else p_all * (p_all / q_all)
    least, few, most = float(limits.min_samples_leaf), q_all * 1e-12, limits.max_ratio
    for i in range(n_cuts):  # without branches, so that it vectorises
        p_high, q_high = p_all - p_low[i], q_all - q_low[i]
        allowed = (q_low[i] > few) & (q_high > few) & (p_low[i] >= least) & (p_high >= least)
        low = p_low[i] / (q_low[i] if q_low[i] > few else 1.0)
        high = p_high / (q_high if q_high > few else 1.0)
        allowed &= (low * scale <= most) & (high * scale <= most)
        gains[i] = (1.0 if limits.by_likelihood else p_low[i] * low + p_high * high - whole) if allowed else 0.0
    if limits.by_likelihood:
        for i in range(n_cuts):
            if gains[i] != 0.0:
                p_high, q_high = p_all - p_low[i], q_all - q_low[i]
                low = p_low[i] * np.log(p_low[i] / q_low[i]) if p_low[i] > 0 else 0.0
                high = p_high * np.log(p_high / q_high) if p_high > 0 else 0.0
                gains[i] = low + high - whole
    best_cut, best_q = 0, 0.0
    for i in range(n_cuts):
        if gains[i] > best:
            best, best_cut, best_q = gains[i], i + 1, q_low[i]
    return best, best_cut, best_q


@njit(nogil=True, cache=True)
def _order_by_ratio(p, q):
    """Levels that some row has, by P/Q, to be split as if ordered [app:implementation-details]."""
    seen = np.empty(p.shape[0], np.int64)
    n_seen = 0
    for k in range(p.shape[0]):
        if p[k] > 0 or q[k] > 0:
            seen[n_seen] = k
            n_seen += 1
    ratio = np.empty(n_seen)
    for i in range(n_seen):
        k = seen[i]
        ratio[i] = p[k] / q[k] if q[k] > 0 else np.inf
    return seen[np.argsort(ratio, kind="mergesort")]


@njit(nogil=True, cache=True)
def _best_split(columns, p, q, p_all, q_all, scale, limits, allowed, mask, scratch):
    """The best split of a leaf: (gain, column, threshold, Q going left); ``mask`` takes the levels going left."""
    none = np.empty(0, np.int64)
    least = MIN_GAIN * (p_all if limits.by_likelihood else p_all * p_all / q_all)
    best, best_column, best_cut, best_q, best_order = least, -1, 0, 0.0, none
    for j in range(columns.size.shape[0]):
        if allowed.shape[0] and not allowed[j]:
            continue
        first, last = columns.start[j], columns.start[j] + columns.size[j]
        order = none if columns.ordered[j] else _order_by_ratio(p[first:last], q[first:last])
        gain, cut, q_left = _best_threshold(
            p[first:last], q[first:last], order, p_all, q_all, scale, limits, best, scratch
        )
        if cut > 0:
            best, best_column, best_cut, best_q, best_order = gain, j, cut, q_left, order
    if best_order.shape[0]:
        first = columns.start[best_column]
        mask[:] = 0
        for i in range(best_cut):
            mask[best_order[i] >> 6] |= np.uint64(1) << np.uint64(best_order[i] & 63)
        for k in range(columns.size[best_column]):
            # a level that no row of this leaf has goes where most of the model is
            if p[first + k] == 0 and q[first + k] == 0 and 2 * best_q > q_all:
                mask[k >> 6] |= np.uint64(1) << np.uint64(k & 63)
        best_cut = -1
    return best, best_column, best_cut, best_q


@njit(nogil=True, cache=True)
def _partition(codes, rows, first, last, column, threshold, mask, ordered, spare):
    """Stable: rows going left first. Returns where the right ones begin."""
    left, n_right = first, 0
    for i in range(first, last):
        row = rows[i]
        code = codes[row, column]
        if ordered:
            goes_left = code < threshold
        else:
            goes_left = (mask[code >> 6] >> np.uint64(code & 63)) & np.uint64(1) != 0
        rows[left] = row
        spare[n_right] = row
        left += goes_left
        n_right += not goes_left
    _copy(spare[:n_right], rows[left:last])
    return left


@njit(nogil=True, cache=True)
def _start(columns, weight, n_rows, n_pool, limits, words):
    """A tree of one leaf, and what is known of it."""
    max_leaves, n_codes = limits.max_leaves, columns.start[-1]
    tree = Growing(
        np.zeros(max_leaves, np.int32), np.zeros(max_leaves, np.int32), np.zeros(max_leaves, np.int32),
        np.zeros((max_leaves, words), np.uint64), np.zeros(max_leaves, np.int64), np.zeros(max_leaves),
        np.arange(n_rows).astype(np.int32), np.arange(n_pool).astype(np.int32),
        np.zeros((max_leaves, 2), np.int64), np.zeros((max_leaves, 2), np.int64),
    )  # fmt: skip
    tree.segment[0, 1], tree.pool_segment[0, 1] = n_rows, n_pool
    tree.count[0], tree.reference[0] = _size(weight, tree.rows, 0, n_rows), float(n_pool) if n_pool else 1.0
    n_slots = max(4, min(max_leaves + 2, SLOT_BYTES // (8 * n_codes)))
    free = np.arange(n_slots + 1)
    opened = Open(
        np.full(max_leaves, -1, np.int32), np.zeros(max_leaves, np.int32), np.zeros((max_leaves, words), np.uint64),
        np.zeros(max_leaves), np.full(max_leaves, -1, np.int64),
        np.empty((1 if n_pool else max_leaves, n_codes), np.bool_),
        np.empty((n_slots, n_codes), np.int32), np.empty((n_slots if n_pool else 1, n_codes), np.int32), free,
    )  # fmt: skip
    opened.box[0] = True
    return tree, opened


@njit(nogil=True, cache=True)
def _take_slot(opened):
    opened.free[-1] -= 1
    return opened.free[opened.free[-1]]


@njit(nogil=True, cache=True)
def _release_slot(opened, leaf):
    opened.free[opened.free[-1]] = opened.slot[leaf]
    opened.free[-1] += 1
    opened.slot[leaf] = -1


@njit(nogil=True, cache=True)
def _fill_slot(columns, codes, weight, pool, tree, opened, leaf):
    slot = opened.slot[leaf] = _take_slot(opened)
    _count(codes, weight, tree.rows, tree.segment[leaf, 0], tree.segment[leaf, 1], columns.start, opened.count[slot])
    if pool.shape[0]:
        first, last = tree.pool_segment[leaf, 0], tree.pool_segment[leaf, 1]
        _count(pool, weight[:0], tree.pool_rows, first, last, columns.start, opened.pool_count[slot])


@njit(nogil=True, cache=True)
def _look(columns, reference, limits, allowed, scale, tree, opened, leaf, scratch):
    """Find the best split of a leaf whose histograms are counted. Returns its gain."""
    slot, q = opened.slot[leaf], scratch[3]
    if reference.codes.shape[0]:
        _copy(opened.pool_count[slot], q)
    else:
        _product(columns, reference.probability, opened.box[leaf], tree.reference[leaf], q)
    gain, column, threshold, q_left = _best_split(
        columns, opened.count[slot], q, float(tree.count[leaf]), tree.reference[leaf], scale, limits, allowed,
        opened.mask[leaf], scratch,
    )  # fmt: skip
    opened.column[leaf], opened.threshold[leaf], opened.reference_left[leaf] = column, threshold, q_left
    return gain


@njit(nogil=True, cache=True)
def _split(columns, codes, weight, pool, tree, opened, leaf, new, spare):
    """Carry out the split of ``leaf``, whose right part becomes leaf ``new``."""
    column, threshold, mask = opened.column[leaf], opened.threshold[leaf], opened.mask[leaf]
    node = new - 1
    tree.split_leaf[node], tree.column[node], tree.threshold[node] = leaf, column, threshold
    _copy(mask, tree.mask[node])
    ordered = columns.ordered[column]
    first, last = tree.segment[leaf, 0], tree.segment[leaf, 1]
    middle = _partition(codes, tree.rows, first, last, column, threshold, mask, ordered, spare)
    tree.segment[leaf, 1] = tree.segment[new, 0] = middle
    tree.segment[new, 1] = last
    tree.count[new] = _size(weight, tree.rows, middle, last)
    tree.count[leaf] -= tree.count[new]
    if pool.shape[0]:
        first, last = tree.pool_segment[leaf, 0], tree.pool_segment[leaf, 1]
        middle = _partition(pool, tree.pool_rows, first, last, column, threshold, mask, ordered, spare)
        tree.pool_segment[leaf, 1] = tree.pool_segment[new, 0] = middle
        tree.pool_segment[new, 1] = last
        tree.reference[leaf], tree.reference[new] = middle - first, last - middle
    else:
        tree.reference[new] = tree.reference[leaf] - opened.reference_left[leaf]
        tree.reference[leaf] = opened.reference_left[leaf]
        _copy(opened.box[leaf], opened.box[new])
        at = columns.start[column]
        for k in range(columns.size[column]):
            if ordered:
                goes_left = k < threshold
            else:
                goes_left = (mask[k >> 6] >> np.uint64(k & 63)) & np.uint64(1) != 0
            opened.box[new if goes_left else leaf, at + k] = False


@njit(nogil=True, cache=True)
def _count_children(columns, codes, weight, pool, tree, opened, leaf, new):
    """Histograms of both children: the smaller is counted; the other is the parent, if kept, less the smaller."""
    size_left = tree.segment[leaf, 1] - tree.segment[leaf, 0] + tree.pool_segment[leaf, 1] - tree.pool_segment[leaf, 0]
    size_right = tree.segment[new, 1] - tree.segment[new, 0] + tree.pool_segment[new, 1] - tree.pool_segment[new, 0]
    small, large = (leaf, new) if size_left <= size_right else (new, leaf)
    parent = opened.slot[leaf]
    _fill_slot(columns, codes, weight, pool, tree, opened, small)
    if parent < 0:
        _fill_slot(columns, codes, weight, pool, tree, opened, large)
        return
    opened.slot[large] = parent
    _subtract(opened.count[opened.slot[small]], opened.count[parent])
    if pool.shape[0]:
        _subtract(opened.pool_count[opened.slot[small]], opened.pool_count[parent])


@njit(nogil=True, cache=True)
def grow(columns, codes, weight, reference, limits, allowed):
    """Grow a tree greedily; ``allowed[e]`` says which columns the e-th leaf looked at may be split on (empty: all).

    The root may be split on any column if it cannot be on those. Rows count as often as ``weight`` (int32; empty: once)
    says.

    Returns the growing tree and its number of leaves.
    """
    pool = reference.codes
    words = np.int64(1)  # typed, here and below: each literal would compile what it is passed to anew
    for j in range(columns.size.shape[0]):
        if not columns.ordered[j]:
            words = max(words, (columns.size[j] + 63) >> 6)
    tree, opened = _start(columns, weight, codes.shape[0], pool.shape[0], limits, words)
    spare = np.empty(max(codes.shape[0], pool.shape[0]), np.int32)
    scratch = np.empty((4, columns.start[-1]))
    every = np.empty(0, np.bool_)
    scale = tree.reference[0] / tree.count[0]  # P/Q from counts
    # Subtracting costs a pass over all codes: below this many rows, counting anew is cheaper.
    few = columns.start[-1] // (2 * codes.shape[1])
    heap = [(0.0, np.int64(0))]
    heap.pop()
    fresh = np.zeros(2, np.int64)
    n_fresh, n_leaves, n_looked = np.int64(1), np.int64(1), np.int64(0)
    _fill_slot(columns, codes, weight, pool, tree, opened, fresh[0])
    while True:
        for f in range(n_fresh):
            leaf = fresh[f]
            gain = _look(
                columns,
                reference,
                limits,
                allowed[n_looked] if allowed.shape[0] else every,
                scale,
                tree,
                opened,
                leaf,
                scratch,
            )
            n_looked += 1
            if n_leaves == 1 and opened.column[leaf] < 0 and allowed.shape[0]:  # the columns drawn offer no tree at all
                gain = _look(columns, reference, limits, every, scale, tree, opened, leaf, scratch)
            if opened.column[leaf] >= 0:
                heappush(heap, (float(n_looked) if limits.breadth_first else -gain, leaf))
            n_rows = (
                tree.segment[leaf, 1] - tree.segment[leaf, 0] + tree.pool_segment[leaf, 1] - tree.pool_segment[leaf, 0]
            )
            if opened.column[leaf] < 0 or n_rows < few:
                _release_slot(opened, leaf)
        if opened.free[-1] < 2:  # the next split may need two
            for f in range(n_fresh):
                if opened.slot[fresh[f]] >= 0:
                    _release_slot(opened, fresh[f])
        if n_leaves == limits.max_leaves or not heap:
            return tree, n_leaves
        leaf = heappop(heap)[1]
        new = n_leaves
        n_leaves += 1
        _split(columns, codes, weight, pool, tree, opened, leaf, new, spare)
        _count_children(columns, codes, weight, pool, tree, opened, leaf, new)
        fresh[0], fresh[1], n_fresh = leaf, new, 2


@njit(nogil=True, cache=True)
def _random_split(columns, box, uniforms, mask):
    """A random column of a box, cut in the middle, a coin deciding where the middle lies between: (column, cut, share).

    Of an unordered column, a random half of the levels goes left. Column -1 where no column can be split.
    """
    n_columns = columns.size.shape[0]
    inside = np.zeros(n_columns, np.int64)
    n_wide = 0
    for j in range(n_columns):
        for k in range(columns.start[j], columns.start[j] + columns.size[j]):
            inside[j] += box[k]
        n_wide += inside[j] > 1
    if n_wide == 0:
        return -1, 0, 0.0
    place, column = np.int64(uniforms[0] * n_wide), -1
    for j in range(n_columns):
        if inside[j] > 1:
            if place == 0:
                column = j
                break
            place -= 1
    n, first = inside[column], columns.start[column]
    n_left = n // 2 + (n % 2 == 1 and uniforms[1] < 0.5)
    codes, m = np.empty(n, np.int64), 0
    for k in range(columns.size[column]):
        if box[first + k]:
            codes[m] = k
            m += 1
    if columns.ordered[column]:
        return column, codes[n_left], n_left / n
    mask[:] = 0
    for i in range(n_left):  # the first cards of a shuffled deck
        other = i + np.int64(uniforms[2 + i] * (n - i))
        codes[i], codes[other] = codes[other], codes[i]
        mask[codes[i] >> 6] |= np.uint64(1) << np.uint64(codes[i] & 63)
    return column, -1, n_left / n


@njit(nogil=True, cache=True)
def grow_at_random(columns, codes, weight, limits, uniforms):
    """Grow a tree by random splits in the middle of leaves, the oldest leaf first, whatever the data.

    ``uniforms`` (leaves, 2 + most levels of an unordered column) decide; returns as :func:`grow`.
    """
    words = np.int64(1)
    for j in range(columns.size.shape[0]):
        if not columns.ordered[j]:
            words = max(words, (columns.size[j] + 63) >> 6)
    tree, opened = _start(columns, weight, codes.shape[0], 0, limits, words)
    spare = np.empty(codes.shape[0], np.int32)
    queue = np.empty(2 * limits.max_leaves, np.int64)
    queue[0], n_queued, n_looked, n_leaves = 0, np.int64(1), np.int64(0), np.int64(1)
    while n_looked < n_queued and n_leaves < limits.max_leaves:
        leaf = queue[n_looked]
        column, cut, share = _random_split(columns, opened.box[leaf], uniforms[n_looked], opened.mask[leaf])
        n_looked += 1
        if column < 0:
            continue
        opened.column[leaf], opened.threshold[leaf] = column, cut
        opened.reference_left[leaf] = tree.reference[leaf] * share
        _split(columns, codes, weight, codes[:0], tree, opened, leaf, n_leaves, spare)
        queue[n_queued], queue[n_queued + 1] = leaf, n_leaves
        n_queued += 2
        n_leaves += 1
    return tree, n_leaves
