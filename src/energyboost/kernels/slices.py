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

from energyboost.kernels.arrays import IMPOSSIBLE, LANES

# No NaN occurs, and sums may be reordered: vector code, the same on every call, not on every kind of processor.
FAST = {"reassoc", "contract", "arcp", "nsz", "nnan"}
ONE, TOP = np.uint64(1), np.uint64(1 << 63)
ALL = ~np.uint64(0)


@intrinsic
def _running_sum(typingctx, array, start, carry):
    """Replace ``array[start:start + LANES]`` by its running sum plus ``carry``; returns the last one."""

    def codegen(context, builder, signature, arguments):
        vector = ir.VectorType(ir.FloatType(), LANES)
        lane = ir.VectorType(ir.IntType(32), LANES)
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        place = builder.bitcast(builder.gep(data, [arguments[1]]), vector.as_pointer())
        total = builder.load(place, align=4)
        zeros = ir.Constant(vector, [0.0] * LANES)
        shift = 1
        while shift < LANES:
            moved = ir.Constant(lane, [k - shift if k >= shift else LANES for k in range(LANES)])
            total = builder.fadd(total, builder.shuffle_vector(total, zeros, moved))
            shift *= 2
        spread = builder.insert_element(zeros, arguments[2], ir.Constant(ir.IntType(32), 0))
        total = builder.fadd(total, builder.shuffle_vector(spread, zeros, ir.Constant(lane, [0] * LANES)))
        builder.store(total, place, align=4)
        return builder.extract_element(total, ir.Constant(ir.IntType(32), LANES - 1))

    return types.float32(array, types.uint64, types.float32), codegen


@intrinsic
def _inside(typingctx, box, low, high, code):
    """The bits k for which ``box[low + k] <= code <= box[high + k]``, 64 of them at once."""

    def codegen(context, builder, signature, arguments):
        vector = ir.VectorType(context.get_data_type(signature.args[0].dtype), 64)
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        low, high = (
            builder.load(builder.bitcast(builder.gep(data, [start]), vector.as_pointer()), align=1)
            for start in arguments[1:3]
        )
        undefined = ir.Constant(vector, ir.Undefined)
        spread = builder.insert_element(undefined, arguments[3], ir.Constant(ir.IntType(32), 0))
        spread = builder.shuffle_vector(spread, undefined, ir.Constant(ir.VectorType(ir.IntType(32), 64), [0] * 64))
        both = builder.and_(builder.icmp_unsigned("<=", low, spread), builder.icmp_unsigned("<=", spread, high))
        return builder.bitcast(both, ir.IntType(64))

    return types.uint64(box, types.uint64, types.uint64, box.dtype), codegen


@intrinsic
def _add_levels(typingctx, energy, at, value, levels, first, stride, leaves, n_leaves):
    """``energy[at + k] += value[leaf]`` for each leaf and each bit k of ``levels[first + leaf * stride]``.

    The sums stay in registers: through memory, every leaf would wait for the one before.
    """

    def codegen(context, builder, signature, arguments):
        vector, flags = ir.VectorType(ir.FloatType(), LANES), ir.VectorType(ir.IntType(1), LANES)
        zeros, everywhere = (
            ir.Constant(vector, [0.0] * LANES),
            ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES),
        )
        data = {i: context.make_array(signature.args[i])(context, builder, arguments[i]).data for i in (0, 2, 3, 6)}
        place = builder.bitcast(builder.gep(data[0], [arguments[1]]), vector.as_pointer())
        total = cgutils.alloca_once_value(builder, builder.load(place, align=4))
        with cgutils.for_range(builder, arguments[7]) as loop:
            leaf = builder.zext(builder.load(builder.gep(data[6], [loop.index])), ir.IntType(64))
            leaf_value = builder.insert_element(
                zeros, builder.load(builder.gep(data[2], [leaf])), ir.Constant(ir.IntType(32), 0)
            )
            bits = builder.load(builder.gep(data[3], [builder.add(arguments[4], builder.mul(leaf, arguments[5]))]))
            added = builder.select(
                builder.bitcast(bits, flags), builder.shuffle_vector(leaf_value, zeros, everywhere), zeros
            )
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
def _add_leaves(sets, ordered, column, n_groups, leaves, n_leaves, energy):
    """Add the reached leaves to a slice: jumps at their first codes, or their values at each of their levels."""
    value = sets.value
    if ordered:
        lower, at = sets.lower, np.uint64(column)
        before = np.float32(0)
        for i in range(n_leaves):
            leaf = np.uint64(leaves[np.uint64(i)])
            energy[np.uint64(lower[leaf, at])] += value[leaf] - before
            before = value[leaf]
        return
    levels, stride = sets.levels.reshape(-1), np.uint64(sets.levels.shape[1])
    for g in range(np.uint64(n_groups)):
        first = np.uint64(sets.levels_start[column]) + np.uint64(g)
        _add_levels(energy, np.uint64(g) * np.uint64(LANES), value, levels, first, stride, leaves, np.uint64(n_leaves))


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy")
def _add_blocks(columns, sets, row, column, slots, n_slots, leaves, energy):
    """Add the reached leaves of reached blocks to a slice; the same AND as of slots finds them, over their boxes."""
    box, n_columns = sets.block_box, np.uint64(row.shape[0])
    ordered, padded = columns.ordered[column], columns.start[column + 1] - columns.start[column]
    before = np.float32(0)
    n = np.uint64(0)
    for i in range(n_slots):
        block = np.uint64(sets.block[np.uint64(slots[np.uint64(i)])])
        first, size = np.uint64(sets.block_first[block]), np.uint64(sets.block_size[block])
        start = np.uint64(2) * n_columns * first
        word = ALL >> (np.uint64(64) - size)
        for j in range(np.uint64(0), n_columns):
            # stopping at the last leaf left would save little reading and cost a misprediction
            if columns.ordered[j]:
                low = start + np.uint64(2) * j * size
                inside = _inside(box, low, low + size, row[j])
            else:
                inside = sets.block_levels[columns.level_start[j] + row[j], block]
            word &= inside if j != np.uint64(column) else ALL
        start += np.uint64(2) * np.uint64(column) * size
        while word != np.uint64(0):
            bit = np.uint64(trailing_zeros(word))
            word &= word - ONE
            leaves[n] = first + bit
            n += ONE
            if ordered:
                value = sets.value[first + bit]
                low = np.uint64(box[start + bit])
                # a tree's first leaf is dropped behind the last code, as in _add_leaves
                at = low if low != np.uint64(0) else np.uint64(padded) + (n & np.uint64(LANES - 1))
                energy[at] += value - before
                before = value
    if not ordered:
        _add_leaves(sets, ordered, column, padded // LANES, leaves, n, energy)


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy")
def _draw(ordered, energy, base, cold, n_codes, weight, uniform):
    """Draw a code from softmax((slice + base) * cold) and clear the slice."""
    n = np.uint64(n_codes)
    if ordered:
        carry = np.float32(0)
        for k in range(np.uint64(0), n, np.uint64(LANES)):
            carry = _running_sum(energy, np.uint64(k), carry)
    for k in range(n):
        weight[np.uint64(k)] = (energy[np.uint64(k)] + base[np.uint64(k)]) * cold
    for k in range(n + np.uint64(LANES)):
        energy[np.uint64(k)] = np.float32(0)
    top = np.float32(IMPOSSIBLE)
    for k in range(n):
        top = weight[np.uint64(k)] if weight[np.uint64(k)] > top else top
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
        group = np.float32(0)
        for g in range(LANES):
            group += weight[k + np.uint64(g)]
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
        blocked = sets.block.shape[0] > 0
        words = sets.words.reshape(-1)
        behind = np.empty((max(1, n_free), n_words), np.uint64)  # AND over the columns still to come in this sweep
        before = np.empty(n_words, np.uint64)  # AND over the columns already swept and those held fixed
        reach, found = np.empty(n_words, np.uint64), np.empty(n_words + 1, np.uint32)
        slots = np.empty(64 * n_words + 2, np.uint32)
        leaves = np.empty(sets.value.shape[0] + 2 if blocked else 0, np.uint32)
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
        for c in range(n_chains):
            for s in range(n_sweeps):
                for q in range(n_words):  # not a slice assignment: its error message takes seconds to compile
                    before[q] = every_slot[q]
                for j in range(n_columns):
                    if held[j]:
                        step = sets.step[columns.start[j] + codes[c, j]]
                        for t in range(n_trees):
                            row = (np.uint64(sets.tree_row[t]) + np.uint64(step[t])) * np.uint64(width)
                            for q in range(width):
                                before[np.uint64(t * width + q)] &= words[row + np.uint64(q)]
                behind[n_free - 1] = ALL
                for i in range(n_free - 1, 0, -1):
                    step = sets.step[columns.start[free[i]] + codes[c, free[i]]]
                    here, later = behind[i - 1], behind[i]
                    for t in range(n_trees):
                        row = (np.uint64(sets.tree_row[t]) + np.uint64(step[t])) * np.uint64(width)
                        for q in range(width):
                            here[np.uint64(t * width + q)] = later[np.uint64(t * width + q)] & words[row + np.uint64(q)]
                for i in range(n_free):
                    j = free[i]
                    later = behind[i]
                    if i == 0:
                        for q in range(n_words):
                            reach[q] = before[q] & later[q]
                    else:
                        step = sets.step[columns.start[free[i - 1]] + codes[c, free[i - 1]]]
                        for t in range(n_trees):
                            row = (np.uint64(sets.tree_row[t]) + np.uint64(step[t])) * np.uint64(width)
                            for q in range(width):
                                at = np.uint64(t * width + q)
                                word = before[at] & words[row + np.uint64(q)]
                                before[at] = word
                                reach[at] = word & later[at]
                    n = _set_bits(reach, n_words, found, slots)
                    size = columns.start[j + 1] - columns.start[j]
                    if blocked:
                        _add_blocks(columns, sets, codes[c], j, slots, n, leaves, energy)
                    else:
                        _add_leaves(sets, columns.ordered[j], j, size // LANES, slots, n, energy)
                    codes[c, j] = _draw(
                        columns.ordered[j],
                        energy,
                        base[columns.start[j] :],
                        cold,
                        size,
                        weight,
                        uniforms[c, s, i],
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
        blocked = sets.block.shape[0] > 0
        words = sets.words.reshape(-1)
        reach, found = np.empty(n_words, np.uint64), np.empty(n_words + 1, np.uint32)
        slots = np.empty(64 * n_words + 2, np.uint32)
        leaves = np.empty(sets.value.shape[0] + 2 if blocked else 0, np.uint32)
        n_groups = (columns.start[column + 1] - columns.start[column]) // LANES
        offset = np.uint32(first_tree * width * 64)
        for i in range(n_rows):
            for t in range(n_trees):
                row = np.uint64(sets.tree_row[first_tree + t]) * np.uint64(width)
                for q in range(width):
                    reach[np.uint64(t * width + q)] = words[row + np.uint64(q)]
            for j in range(n_columns):
                if j == column:
                    continue
                step = sets.step[columns.start[j] + codes[i, j]]
                for t in range(n_trees):
                    row = (np.uint64(sets.tree_row[first_tree + t]) + np.uint64(step[first_tree + t])) * np.uint64(
                        width
                    )
                    for q in range(width):
                        reach[np.uint64(t * width + q)] &= words[row + np.uint64(q)]
            n = _set_bits(reach, n_words, found, slots)
            for k in range(n):
                slots[k] += offset
            if blocked:
                _add_blocks(columns, sets, codes[i], column, slots, n, leaves, out[i])
            else:
                _add_leaves(sets, columns.ordered[column], column, n_groups, slots, n, out[i])

    return add_slices
