"""Slices: the energy along one column with the others fixed, for Gibbs sweeps and for predictions.

The leaves that a row can reach along column i are the AND, over the other columns, of the leaf sets that their codes
admit. Along an ordered column these leaves are consecutive runs of codes, so a slice is a list of jumps, summed up
once at the end. The functions are made per number of words in a tree (``width``), so that loops over words unroll.
"""

from functools import cache

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.cpython.unsafe.numbers import trailing_zeros
from numba.extending import intrinsic

from energyboost.kernels.arrays import FAN, IMPOSSIBLE, LANES

# No NaN occurs, and sums may be reordered: vector code, the same on every call, not on every kind of processor.
FAST = {"reassoc", "contract", "arcp", "nsz", "nnan"}
ONE, TOP = np.uint64(1), np.uint64(1 << 63)
ALL = ~np.uint64(0)


def _splat(builder, value, length):
    """A vector of the same value."""
    empty = ir.Constant(ir.VectorType(value.type, length), ir.Undefined)
    first = builder.insert_element(empty, value, ir.Constant(ir.IntType(32), 0))
    return builder.shuffle_vector(first, empty, ir.Constant(ir.VectorType(ir.IntType(32), length), [0] * length))


def _folded(builder, vector, length, combine):
    """One value from a vector: its halves are combined until one is left."""
    lane = ir.IntType(32)
    while length > 1:
        length //= 2
        index = ir.VectorType(lane, length)
        halves = (ir.Constant(index, list(range(first, first + length))) for first in (0, length))
        vector = combine(*(builder.shuffle_vector(vector, vector, half) for half in halves))
    return builder.extract_element(vector, ir.Constant(lane, 0))


def _running_sum(builder, vector):
    """The running sum of a vector of LANES values."""
    lane = ir.VectorType(ir.IntType(32), LANES)
    zeros = ir.Constant(vector.type, [0.0] * LANES)
    shift = 1
    while shift < LANES:
        moved = ir.Constant(lane, [k - shift if k >= shift else LANES for k in range(LANES)])
        vector = builder.fadd(vector, builder.shuffle_vector(vector, zeros, moved))
        shift *= 2
    return vector


def _weigher(jumps):
    """A function that takes a slice, of jumps or of values, to the exponents of its weights."""

    @intrinsic
    def weigh(typingctx, energy, base, first, cold, n_codes, weight):
        """Write (slice + base) * cold to ``weight`` and return the largest; the slice is cleared."""

        def codegen(context, builder, signature, arguments):
            vector = ir.VectorType(ir.FloatType(), LANES)
            data = {i: context.make_array(signature.args[i])(context, builder, arguments[i]).data for i in (0, 1, 5)}

            def place(i, at):
                return builder.bitcast(builder.gep(data[i], [at]), vector.as_pointer())

            zeros, lanes = ir.Constant(vector, [0.0] * LANES), ir.Constant(ir.IntType(64), LANES)
            cold = _splat(builder, arguments[3], LANES)
            top = cgutils.alloca_once_value(builder, ir.Constant(vector, [float(IMPOSSIBLE)] * LANES))
            carry = cgutils.alloca_once_value(builder, ir.Constant(ir.FloatType(), 0.0))
            with cgutils.for_range(builder, builder.udiv(arguments[4], lanes)) as loop:
                at = builder.mul(loop.index, lanes)
                total = builder.load(place(0, at), align=4)
                builder.store(zeros, place(0, at), align=4)
                if jumps:
                    total, before = _running_sum(builder, total), builder.load(carry)
                    last = builder.extract_element(total, ir.Constant(ir.IntType(32), LANES - 1))
                    builder.store(builder.fadd(before, last), carry)  # apart from the rest: only this must wait
                    total = builder.fadd(total, _splat(builder, before, LANES))
                base = builder.load(place(1, builder.add(arguments[2], at)), align=4)
                total = builder.fmul(builder.fadd(total, base), cold)
                builder.store(total, place(5, at), align=4)
                most = builder.load(top)
                builder.store(builder.select(builder.fcmp_ordered(">", total, most), total, most), top)
            builder.store(zeros, place(0, arguments[4]), align=4)
            return _folded(
                builder, builder.load(top), LANES, lambda a, b: builder.select(builder.fcmp_ordered(">", a, b), a, b)
            )

        word = types.uint64
        return types.float32(energy, base, word, types.float32, word, weight), codegen

    return weigh


_weigh_jumps, _weigh_values = _weigher(jumps=True), _weigher(jumps=False)


@intrinsic
def _sum_of_lanes(typingctx, array, start):
    """The sum of ``array[start:start + LANES]``."""

    def codegen(context, builder, signature, arguments):
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        vector = ir.VectorType(ir.FloatType(), LANES)
        place = builder.bitcast(builder.gep(data, [arguments[1]]), vector.as_pointer())
        return _folded(builder, builder.load(place, align=4), LANES, builder.fadd)

    return types.float32(array, types.uint64), codegen


@intrinsic
def _kept(typingctx, columns, thresholds, keep, treelet, row, column):
    """The AND of the children kept by the nodes of a treelet that split ordered columns, but for ``column``."""

    def codegen(context, builder, signature, arguments):
        word, lane = ir.IntType(64), ir.IntType(32)
        data = {i: context.make_array(signature.args[i])(context, builder, arguments[i]).data for i in (0, 1, 2, 4)}
        kinds = {i: context.get_data_type(signature.args[i].dtype) for i in data}
        start = builder.mul(arguments[3], ir.Constant(word, FAN))

        def lanes(i, at):
            place = builder.bitcast(builder.gep(data[i], [at]), ir.VectorType(kinds[i], FAN).as_pointer())
            return builder.load(place, align=kinds[i].width // 8)

        codes = ir.Constant(ir.VectorType(kinds[4], FAN), [0] * FAN)
        for k in range(FAN - 1):
            at = builder.load(builder.gep(data[0], [builder.add(start, ir.Constant(word, k))]))
            code = builder.load(builder.gep(data[4], [builder.zext(at, word)]))
            codes = builder.insert_element(codes, code, ir.Constant(lane, k))
        goes_right = builder.icmp_unsigned(">=", codes, lanes(1, start))
        left = builder.mul(start, ir.Constant(word, 2))
        right = builder.add(left, ir.Constant(word, FAN))
        kept = builder.select(goes_right, lanes(2, right), lanes(2, left))
        free = builder.icmp_unsigned("==", lanes(0, start), _splat(builder, builder.trunc(arguments[5], kinds[0]), FAN))
        sets = ir.VectorType(kinds[2], FAN)
        is_node = ir.Constant(sets, [-1] * (FAN - 1) + [0])
        kept = builder.or_(kept, builder.and_(builder.sext(free, sets), is_node))
        return builder.zext(_folded(builder, kept, FAN, builder.and_), word)

    return types.uint64(columns, thresholds, keep, types.uint64, row, types.uint64), codegen


@intrinsic
def _add_levels(typingctx, energy, at, value, levels, first, stride, leaves, n_leaves):
    """``energy[at + k] += value[leaf]`` for each leaf and each bit k of ``levels[first + leaf * stride]``.

    The sums stay in registers: through memory, every leaf would wait for the one before.
    """

    def codegen(context, builder, signature, arguments):
        vector, flags = ir.VectorType(ir.FloatType(), LANES), ir.VectorType(ir.IntType(1), LANES)
        zeros = ir.Constant(vector, [0.0] * LANES)
        data = {i: context.make_array(signature.args[i])(context, builder, arguments[i]).data for i in (0, 2, 3, 6)}
        place = builder.bitcast(builder.gep(data[0], [arguments[1]]), vector.as_pointer())
        total = cgutils.alloca_once_value(builder, builder.load(place, align=4))
        with cgutils.for_range(builder, arguments[7]) as loop:
            leaf = builder.zext(builder.load(builder.gep(data[6], [loop.index])), ir.IntType(64))
            leaf_value = _splat(builder, builder.load(builder.gep(data[2], [leaf])), LANES)
            bits = builder.load(builder.gep(data[3], [builder.add(arguments[4], builder.mul(leaf, arguments[5]))]))
            added = builder.select(builder.bitcast(bits, flags), leaf_value, zeros)
            builder.store(builder.fadd(builder.load(total), added), total)
        builder.store(builder.load(total), place, align=4)
        return context.get_dummy_value()

    index = types.uint64
    return types.void(energy, index, value, levels, index, index, leaves, index), codegen


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy")
def _set_bits(words, n_words, found, positions):
    """Write the positions of all set bits; returns their number. Most words are empty, most others hold few bits."""
    n_found = np.uint64(0)
    for q in range(n_words):
        found[n_found] = q
        n_found += np.uint64(words[q] != np.uint64(0))
    n = np.uint64(0)
    for i in range(n_found):
        q = np.uint64(found[np.uint64(i)])
        word, first = words[q], q << np.uint64(6)
        for _ in range(3):  # without a branch: a bit that is not there is written over by the next
            positions[n] = first + np.uint64(trailing_zeros(word | TOP))
            n += np.uint64(word != np.uint64(0))
            word &= word - ONE
        while word != np.uint64(0):
            positions[n] = first + np.uint64(trailing_zeros(word))
            n += ONE
            word &= word - ONE
    return n


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy")
def _add_leaves(value, lower, levels, first_group, ordered, column, n_groups, leaves, n_leaves, energy):
    """Add the reached leaves to a slice: jumps at their first codes, or their values at each of their levels."""
    if ordered:
        at, behind = np.uint64(column), np.uint64(n_groups) * np.uint64(LANES)
        before = np.float32(0)
        for i in range(n_leaves):
            leaf = np.uint64(leaves[np.uint64(i)])
            low = np.uint64(lower[leaf, at])
            # A leaf from code 0 on is its tree's first along the column: its value is a constant of the slice. It is
            # dropped behind the last code, in one of several places so that drops do not wait for each other.
            low = low if low != np.uint64(0) else behind + (np.uint64(i) & np.uint64(LANES - 1))
            energy[low] += value[leaf] - before
            before = value[leaf]
        return
    stride = np.uint64(levels.shape[1])
    for g in range(np.uint64(n_groups)):
        first = np.uint64(first_group) + np.uint64(g)
        _add_levels(energy, np.uint64(g) * np.uint64(LANES), value, levels, first, stride, leaves, np.uint64(n_leaves))


@njit(nogil=True, cache=True)
def _room(sets, n_words):
    """Arrays for whatever a row may reach, slots or leaves: kernels write up to two places behind the last."""
    n = max(64 * n_words, sets.value.shape[0] if sets.n_levels else 0) + 2
    return np.empty(n, np.uint32), np.empty(n if sets.n_levels else 0, np.uint32)


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy")
def _descend(slot, n_levels, treelets, row, column, slots, n_slots, others):
    """From reached slots to the leaves that a row reaches along ``column``; returns these and their number.

    Both ``slots`` and ``others`` are written over.
    """
    free, n = np.uint64(column), np.uint64(n_slots)
    for i in range(n):
        slots[np.uint64(i)] = slot[np.uint64(slots[np.uint64(i)])]
    reached, children = slots, others
    for _ in range(n_levels):
        n_reached, n = n, np.uint64(0)
        for i in range(n_reached):
            treelet = np.uint64(reached[np.uint64(i)])
            word = _kept(treelets.column, treelets.threshold, treelets.keep, treelet, row, free)
            for node in range(np.uint64(treelets.set_start[treelet]), np.uint64(treelets.set_start[treelet + ONE])):
                code = np.uint64(row[np.uint64(treelets.set_column[node])])
                levels = treelets.mask_bits[np.uint64(treelets.set_word[node]) + (code >> np.uint64(6))]
                goes_right = ((levels >> (code & np.uint64(63))) & ONE) ^ ONE
                word &= np.uint64(treelets.set_keep[node, goes_right]) if treelets.set_column[node] != free else ALL
            first = np.uint64(treelets.first[treelet])
            for _ in range(2):  # without a branch, as in _set_bits
                children[n] = first + np.uint64(trailing_zeros(word | TOP))
                n += np.uint64(word != np.uint64(0))
                word &= word - ONE
            while word != np.uint64(0):
                children[n] = first + np.uint64(trailing_zeros(word))
                n += ONE
                word &= word - ONE
        reached, children = children, reached
    return reached, n


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy")
def _draw(ordered, energy, base, first, cold, n_codes, weight, uniform):
    """Draw a code from softmax((slice + base) * cold) and clear the slice; ``base`` is read from ``first`` on."""
    n, first = np.uint64(n_codes), np.uint64(first)
    if ordered:
        top = _weigh_jumps(energy, base, first, cold, n, weight)
    else:
        top = _weigh_values(energy, base, first, cold, n, weight)
    for k in range(n):
        # exp(x) = 2^whole * 2^part, the second by the polynomial of least relative error: exp does not vectorise
        x = (weight[np.uint64(k)] - top) * np.float32(1.44269504)
        x = x if x > np.float32(-126.0) else np.float32(-126.0)
        whole = np.int32(x + np.float32(126.0))
        part = x - (np.float32(whole) - np.float32(126.0))
        p = np.float32(0.008989353) + part * np.float32(0.001877572)
        p = np.float32(0.24015363) + part * (np.float32(0.055826306) + part * p)
        p = np.float32(0.99999994) + part * (np.float32(0.6931531) + part * p)
        p *= np.int32((whole + np.int32(1)) << np.int32(23)).view(np.float32)
        weight[np.uint64(k)] = p if x > np.float32(-126.0) else np.float32(0)
    total = np.float32(0)
    for k in range(n):
        total += weight[np.uint64(k)]
    rest = uniform * total
    k = np.uint64(0)
    last = k  # the last code with any weight met: rounding must not lead past it
    while k < n:
        group = _sum_of_lanes(weight, k)
        if rest < group:
            break
        rest -= group
        k += np.uint64(LANES)
    if k == n:
        k = np.uint64(0)
        rest = np.float32(3e38)
    while k < n:
        if weight[k] > np.float32(0):
            last = k
            if rest < weight[k]:
                return k
            rest -= weight[k]
        k += ONE
    return last


@cache
def sweeps(width):
    """The kernel of Gibbs sweeps for trees of ``width`` words."""

    @njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy")
    def sweep_chains(columns, sets, n_trees, base, cold, free, codes, uniforms, out):
        """Sweep over the ``free`` columns of every chain, ``uniforms.shape[1]`` times, in place.

        uniforms (n_chains, n_sweeps, n_free) decide the draws; the last ``out.shape[1]`` states are written to
        ``out`` (n_chains, n_kept, n_columns).
        """
        n_chains, n_columns = codes.shape
        n_sweeps, n_free = uniforms.shape[1], free.shape[0]
        n_words = n_trees * width
        words = sets.words.reshape(-1)
        behind = np.empty((max(1, n_free), n_words), np.uint64)  # AND over the columns still to come in this sweep
        before = np.empty(n_words, np.uint64)  # AND over the columns already swept and those held fixed
        reach, found = np.empty(n_words, np.uint64), np.empty(n_words + 1, np.uint32)
        slots, others = _room(sets, n_words)
        longest = 0
        for j in range(n_columns):
            longest = max(longest, columns.start[j + 1] - columns.start[j])
        energy, weight = np.zeros(longest + LANES, np.float32), np.empty(longest, np.float32)
        held = np.ones(n_columns, np.bool_)
        for i in range(n_free):
            held[free[i]] = False
        every_slot = np.empty(n_words, np.uint64)
        for t in range(n_trees):
            row = np.uint64(sets.tree_row[t]) * np.uint64(width)
            for q in range(width):
                every_slot[np.uint64(t * width + q)] = words[row + np.uint64(q)]
        # taken out of their tuples once: that counts references, which costs more than a slice of few trees
        start, ordered, tree_row, step = columns.start, columns.ordered, sets.tree_row, sets.step
        value, lower, levels, levels_start = sets.value, sets.lower, sets.levels, sets.levels_start
        slot, treelets, n_levels = sets.slot, sets.treelets, sets.n_levels
        for c in range(n_chains):
            for s in range(n_sweeps):
                for q in range(n_words):  # not a slice assignment: its error message takes seconds to compile
                    before[q] = every_slot[q]
                for j in range(n_columns):
                    if held[j]:
                        code = start[j] + codes[c, j]
                        for t in range(n_trees):
                            row = (np.uint64(tree_row[t]) + np.uint64(step[code, t])) * np.uint64(width)
                            for q in range(width):
                                before[np.uint64(t * width + q)] &= words[row + np.uint64(q)]
                for q in range(n_words):
                    behind[n_free - 1, q] = ALL
                for i in range(n_free - 1, 0, -1):
                    code = start[free[i]] + codes[c, free[i]]
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
                        code = start[free[i - 1]] + codes[c, free[i - 1]]
                        for t in range(n_trees):
                            row = (np.uint64(tree_row[t]) + np.uint64(step[code, t])) * np.uint64(width)
                            for q in range(width):
                                at = np.uint64(t * width + q)
                                word = before[at] & words[row + np.uint64(q)]
                                before[at] = word
                                reach[at] = word & behind[i, at]
                    n = _set_bits(reach, n_words, found, slots)
                    leaves = slots
                    if n_levels:
                        leaves, n = _descend(slot, n_levels, treelets, codes[c], j, slots, n, others)
                    size = start[j + 1] - start[j]
                    _add_leaves(value, lower, levels, levels_start[j], ordered[j], j, size // LANES, leaves, n, energy)
                    codes[c, j] = _draw(ordered[j], energy, base, start[j], cold, size, weight, uniforms[c, s, i])
                kept = s - (n_sweeps - out.shape[1])
                if kept >= 0:
                    for j in range(n_columns):
                        out[c, kept, j] = codes[c, j]

    return sweep_chains


@cache
def slices(width):
    """The kernel of slices for trees of ``width`` words."""

    @njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy")
    def add_slices(columns, sets, first_tree, last_tree, codes, column, out):
        """Add the slices of some trees along ``column`` for every row.

        ``out`` (n_rows, padded codes + LANES) takes jumps for an ordered column and values for an unordered one.
        """
        n_rows, n_columns = codes.shape
        n_trees = last_tree - first_tree
        n_words = n_trees * width
        words = sets.words.reshape(-1)
        reach, found = np.empty(n_words, np.uint64), np.empty(n_words + 1, np.uint32)
        slots, others = _room(sets, n_words)
        n_groups = (columns.start[column + 1] - columns.start[column]) // LANES
        ordered, first_group, offset = columns.ordered[column], sets.levels_start[column], first_tree * width * 64
        start, tree_row, step = columns.start, sets.tree_row, sets.step
        value, lower, levels = sets.value, sets.lower, sets.levels
        slot, treelets, n_levels = sets.slot, sets.treelets, sets.n_levels
        for i in range(n_rows):
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
            n = _set_bits(reach, n_words, found, slots)
            for k in range(n):
                slots[k] += offset
            leaves = slots
            if n_levels:
                leaves, n = _descend(slot, n_levels, treelets, codes[i], column, slots, n, others)
            _add_leaves(value, lower, levels, first_group, ordered, column, n_groups, leaves, n, out[i])

    return add_slices
