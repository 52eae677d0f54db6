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
AHEAD = np.uint64(24)  # treelets asked for before they are looked at
FEW = 20  # columns: up to so many are faster gone through one after the other than looked up for each node


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


def _element(context, builder, array_type, array, *index):
    """A pointer to an element of an array of any strides."""
    array = context.make_array(array_type)(context, builder, array)
    data = builder.bitcast(array.data, ir.IntType(8).as_pointer())
    for i, stride in zip(index, cgutils.unpack_tuple(builder, array.strides), strict=False):
        data = builder.gep(data, [builder.mul(i, stride)])
    return builder.bitcast(data, context.get_data_type(array_type.dtype).as_pointer())


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
def _lost(typingctx, columns, thresholds, sides, treelet, row, column):
    """The children of a treelet that its nodes of ordered columns, but for ``column``, shut out."""

    def codegen(context, builder, signature, arguments):
        word, number, flag = ir.IntType(64), ir.IntType(32), ir.IntType(1)
        words, numbers, flags = (ir.VectorType(kind, FAN) for kind in (word, number, flag))

        def lanes(i):
            place = _element(context, builder, signature.args[i], arguments[i], arguments[3])
            kind = context.get_data_type(signature.args[i].dtype)
            place = builder.bitcast(place, ir.VectorType(kind, FAN).as_pointer())
            return builder.zext(builder.load(place, align=kind.width // 8), numbers)

        def constant(values):
            return ir.Constant(numbers, values)

        node_column, side = lanes(0), lanes(2)
        row = _element(context, builder, signature.args[4], arguments[4])
        n_columns = cgutils.unpack_tuple(
            builder, context.make_array(signature.args[4])(context, builder, arguments[4]).shape
        )[0]
        codes = cgutils.alloca_once(builder, numbers)
        few = builder.icmp_unsigned("<=", n_columns, ir.Constant(word, FEW))
        with builder.if_else(few) as (if_few, if_many):
            with if_few:
                builder.store(constant([0] * FAN), codes)
                with cgutils.for_range(builder, n_columns) as loop:
                    here = builder.icmp_unsigned(
                        "==", node_column, _splat(builder, builder.trunc(loop.index, number), FAN)
                    )
                    code = _splat(builder, builder.load(builder.gep(row, [loop.index])), FAN)
                    builder.store(builder.select(here, code, builder.load(codes)), codes)
            with if_many:
                places = builder.shl(builder.zext(node_column, words), ir.Constant(words, [2] * FAN))
                places = builder.add(places, _splat(builder, builder.ptrtoint(row, word), FAN))
                places = builder.inttoptr(places, ir.VectorType(number.as_pointer(), FAN))
                gather = ir.FunctionType(numbers, [places.type, number, flags, numbers])
                gather = cgutils.get_or_insert_function(
                    builder.module, gather, f"llvm.masked.gather.v{FAN}i32.v{FAN}p0"
                )
                everywhere = ir.Constant(flags, [1] * FAN)
                found = builder.call(gather, [places, ir.Constant(number, 4), everywhere, constant(ir.Undefined)])
                builder.store(found, codes)
        codes = builder.load(codes)
        goes_right = builder.icmp_unsigned(">=", codes, lanes(1))
        begin, middle = builder.and_(side, constant([15] * FAN)), constant(list(range(1, FAN + 1)))
        end = builder.add(builder.lshr(side, constant([4] * FAN)), constant([1] * FAN))
        one = constant([1] * FAN)
        lost = builder.sub(
            builder.shl(one, builder.select(goes_right, middle, end)),
            builder.shl(one, builder.select(goes_right, begin, middle)),
        )
        free = _splat(builder, builder.trunc(arguments[5], number), FAN)
        counts = builder.and_(builder.icmp_unsigned("!=", node_column, free), ir.Constant(flags, [1] * (FAN - 1) + [0]))
        lost = builder.select(counts, lost, constant([0] * FAN))
        return builder.zext(_folded(builder, lost, FAN, builder.or_), word)

    return types.uint64(columns, thresholds, sides, types.uint64, row, types.uint64), codegen


@intrinsic
def _add_levels(typingctx, energy, at, value, levels, group, leaves, n_leaves):
    """``energy[at + k] += value[leaf]`` for each leaf and each bit k of ``levels[leaf, group]``.

    The sums stay in registers: through memory, every leaf would wait for the one before.
    """

    def codegen(context, builder, signature, arguments):
        vector, flags = ir.VectorType(ir.FloatType(), LANES), ir.VectorType(ir.IntType(1), LANES)
        zeros = ir.Constant(vector, [0.0] * LANES)

        def element(i, *index):
            return _element(context, builder, signature.args[i], arguments[i], *index)

        place = builder.bitcast(element(0, arguments[1]), vector.as_pointer())
        total = cgutils.alloca_once_value(builder, builder.load(place, align=4))
        with cgutils.for_range(builder, arguments[6]) as loop:
            leaf = builder.zext(builder.load(element(5, loop.index)), ir.IntType(64))
            leaf_value = _splat(builder, builder.load(element(2, leaf)), LANES)
            bits = builder.load(element(3, leaf, arguments[4]))
            added = builder.select(builder.bitcast(bits, flags), leaf_value, zeros)
            builder.store(builder.fadd(builder.load(total), added), total)
        builder.store(builder.load(total), place, align=4)
        return context.get_dummy_value()

    index = types.uint64
    return types.void(energy, index, value, levels, index, leaves, index), codegen


@intrinsic
def _prefetch(typingctx, array, index):
    """Ask for ``array[index]`` ahead of its use: what is beyond the second cache takes as long as fifty steps."""

    def codegen(context, builder, signature, arguments):
        pointer, number = ir.IntType(8).as_pointer(), ir.IntType(32)
        place = builder.bitcast(_element(context, builder, signature.args[0], *arguments), pointer)
        function = ir.FunctionType(ir.VoidType(), [pointer, number, number, number])
        prefetch = cgutils.get_or_insert_function(builder.module, function, "llvm.prefetch.p0")
        builder.call(prefetch, [place, *(ir.Constant(number, setting) for setting in (0, 3, 1))])
        return context.get_dummy_value()

    return types.void(array, types.uint64), codegen


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy")
def _set_bits(words, first, found, positions):
    """Write the leaf or treelet of each set bit, where bit 0 of word q is ``first[q]``; returns their number.

    Most words are empty, most others hold few bits.
    """
    n_found = np.uint64(0)
    for q in range(first.shape[0]):
        found[n_found] = q
        n_found += np.uint64(words[q] != np.uint64(0))
    n = np.uint64(0)
    for i in range(n_found):
        q = np.uint64(found[np.uint64(i)])
        word, bit_0 = words[q], np.uint64(first[q])
        for _ in range(3):  # without a branch: a bit that is not there is written over by the next
            positions[n] = bit_0 + np.uint64(trailing_zeros(word | TOP))
            n += np.uint64(word != np.uint64(0))
            word &= word - ONE
        while word != np.uint64(0):
            positions[n] = bit_0 + np.uint64(trailing_zeros(word))
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
    for g in range(np.uint64(n_groups)):
        group = np.uint64(first_group) + np.uint64(g)
        _add_levels(energy, np.uint64(g) * np.uint64(LANES), value, levels, group, leaves, np.uint64(n_leaves))


@njit(nogil=True, cache=True)
def _room(sets, n_words):
    """Arrays for whatever a row may reach, slots or leaves: kernels write up to two places behind the last."""
    n = max(64 * n_words, sets.value.shape[0] if sets.n_levels else 0) + 2
    return np.empty(n, np.uint32), np.empty(n if sets.n_levels else 0, np.uint32)


@njit(nogil=True, cache=True)
def _first_slots(sets, first_tree, n_trees, width):
    """The leaf or treelet that bit 0 of each word of some trees stands for."""
    first = np.empty(n_trees * width, np.uint32)
    for t in range(n_trees):
        for q in range(width):
            first[t * width + q] = sets.first_slot[first_tree + t] + 64 * q
    return first


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy")
def _descend(n_levels, treelets, value, row, column, reached, n_reached, others):
    """From reached treelets to the leaves that a row reaches along ``column``; returns these and their number.

    Both ``reached`` and ``others`` are written over.
    """
    free, n, children = np.uint64(column), np.uint64(n_reached), others
    for i in range(min(n, AHEAD)):
        _prefetch(treelets.column, np.uint64(reached[np.uint64(i)]))
    for _ in range(n_levels):
        n_reached, n = n, np.uint64(0)
        for i in range(n_reached):
            treelet = np.uint64(reached[np.uint64(i)])
            _prefetch(treelets.column, np.uint64(reached[min(np.uint64(i) + AHEAD, n_reached - ONE)]))
            lost = _lost(treelets.column, treelets.threshold, treelets.side, treelet, row, free)
            word = np.uint64(treelets.there[treelet]) & ~lost
            first_set = np.uint64(treelets.set_start[treelet])
            for node in range(first_set, first_set + np.uint64(treelets.n_sets[treelet])):
                code = np.uint64(row[np.uint64(treelets.set_column[node])])
                levels = treelets.mask_bits[np.uint64(treelets.set_word[node]) + (code >> np.uint64(6))]
                goes_right = ((levels >> (code & np.uint64(63))) & ONE) ^ ONE
                word &= np.uint64(treelets.set_keep[node, goes_right]) if treelets.set_column[node] != free else ALL
            first = np.uint64(treelets.first[treelet])
            _prefetch(value, first + np.uint64(trailing_zeros(word)))
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
        slot = _first_slots(sets, 0, n_trees, width)
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
        treelets, n_levels = sets.treelets, sets.n_levels
        row_codes = np.empty(n_columns, np.int32)
        for c in range(n_chains):
            for j in range(n_columns):
                row_codes[j] = codes[c, j]
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
                    n = _set_bits(reach, slot, found, slots)
                    leaves = slots
                    if n_levels:
                        leaves, n = _descend(n_levels, treelets, value, row_codes, j, slots, n, others)
                    size = start[j + 1] - start[j]
                    _add_leaves(value, lower, levels, levels_start[j], ordered[j], j, size // LANES, leaves, n, energy)
                    row_codes[j] = codes[c, j] = _draw(
                        ordered[j], energy, base, start[j], cold, size, weight, uniforms[c, s, i]
                    )
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
        slot = _first_slots(sets, first_tree, n_trees, width)
        n_groups = (columns.start[column + 1] - columns.start[column]) // LANES
        ordered, first_group = columns.ordered[column], sets.levels_start[column]
        start, tree_row, step = columns.start, sets.tree_row, sets.step
        value, lower, levels = sets.value, sets.lower, sets.levels
        treelets, n_levels = sets.treelets, sets.n_levels
        row_codes = np.empty(n_columns, np.int32)
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
            n = _set_bits(reach, slot, found, slots)
            leaves = slots
            if n_levels:
                leaves, n = _descend(n_levels, treelets, value, row_codes, column, slots, n, others)
            _add_leaves(value, lower, levels, first_group, ordered, column, n_groups, leaves, n, out[i])

    return add_slices
