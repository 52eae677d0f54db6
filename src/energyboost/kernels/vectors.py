"""Vector code that Numba does not find by itself, written in the words of LLVM."""

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic

from energyboost.kernels.arrays import FAN, IMPOSSIBLE, LANES

# No NaN occurs, and sums may be reordered: vector code, the same on every call, not on every kind of processor.
FAST = {"reassoc", "contract", "arcp", "nsz", "nnan"}
FEW = 20  # columns: up to so many are faster gone through one after the other than looked up for each node


@njit(nogil=True)
def aligned_zeros(n):
    """``n`` zeros in single precision that begin at a cache line: a vector across two lines waits for both."""
    room = np.zeros(n + LANES, np.float32)
    first = -room.ctypes.data % 64 // 4
    return room[first : first + n]


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


def _weigh(context, builder, signature, arguments, jumps, row=None):
    """Write (slice + base) * cold as weights and return the largest; ``row`` of a plane is added to the slice."""
    energy, base, first, cold, n_codes, weight, start = range(7)
    vector = ir.VectorType(ir.FloatType(), LANES)
    data = {
        i: context.make_array(kind)(context, builder, arguments[i]).data
        for i, kind in enumerate(signature.args)
        if isinstance(kind, types.Array)
    }

    def place(i, at):
        return builder.bitcast(builder.gep(data[i], [at]), vector.as_pointer())

    zeros, lanes = ir.Constant(vector, [0.0] * LANES), ir.Constant(ir.IntType(64), LANES)
    cold = _splat(builder, arguments[cold], LANES)
    top = cgutils.alloca_once_value(builder, ir.Constant(vector, [float(IMPOSSIBLE)] * LANES))
    carry = cgutils.alloca_once_value(builder, ir.Constant(ir.FloatType(), 0.0))
    with cgutils.for_range(builder, builder.udiv(arguments[n_codes], lanes)) as loop:
        at = builder.mul(loop.index, lanes)
        total = builder.load(place(energy, at), align=4)
        if row is None:
            builder.store(zeros, place(energy, at), align=4)
        else:
            plane = place(7, builder.add(arguments[8], at))
            total = builder.fadd(total, builder.load(plane, align=4))
            builder.store(zeros, plane, align=4)
            if row == "kept":
                builder.store(total, place(energy, at), align=4)
        if jumps:
            total, before = _running_sum(builder, total), builder.load(carry)
            last = builder.extract_element(total, ir.Constant(ir.IntType(32), LANES - 1))
            builder.store(builder.fadd(before, last), carry)  # apart from the rest: only this must wait
            total = builder.fadd(total, _splat(builder, before, LANES))
        total = builder.fadd(total, builder.load(place(base, builder.add(arguments[first], at)), align=4))
        total = builder.fmul(total, cold)
        builder.store(total, place(weight, builder.add(arguments[start], at)), align=4)
        most = builder.load(top)
        builder.store(builder.select(builder.fcmp_ordered(">", total, most), total, most), top)
    behind = arguments[n_codes] if row is None else builder.add(arguments[8], arguments[n_codes])
    builder.store(zeros, place(energy if row is None else 7, behind), align=4)
    return _folded(
        builder, builder.load(top), LANES, lambda a, b: builder.select(builder.fcmp_ordered(">", a, b), a, b)
    )


def _weigher(jumps):
    @intrinsic
    def weigh(typingctx, energy, base, first, cold, n_codes, weight, start):
        """Write (slice + base) * cold to ``weight[start:]`` and return the largest; the slice is cleared."""

        def codegen(context, builder, signature, arguments):
            return _weigh(context, builder, signature, arguments, jumps)

        word = types.uint64
        return types.float32(energy, base, word, types.float32, word, weight, word), codegen

    return weigh


def _row_weigher(jumps, row):
    @intrinsic
    def weigh(typingctx, energy, base, first, cold, n_codes, weight, start, plane, at):
        """The same of a slice plus the row of a plane that begins at ``at``; the row is cleared.

        A row that is "kept" is added to the slice, one that is "apart" leaves it as it was.
        """

        def codegen(context, builder, signature, arguments):
            return _weigh(context, builder, signature, arguments, jumps, row)

        word = types.uint64
        return types.float32(energy, base, word, types.float32, word, weight, word, plane, word), codegen

    return weigh


weigh_jumps, weigh_values = _weigher(jumps=True), _weigher(jumps=False)
weigh_row_of_jumps, weigh_row_of_values = _row_weigher(jumps=True, row="apart"), _row_weigher(jumps=False, row="apart")
add_row_of_jumps, add_row_of_values = _row_weigher(jumps=True, row="kept"), _row_weigher(jumps=False, row="kept")


@intrinsic
def sum_of_lanes(typingctx, array, start):
    """The sum of ``array[start:start + LANES]``."""

    def codegen(context, builder, signature, arguments):
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        vector = ir.VectorType(ir.FloatType(), LANES)
        place = builder.bitcast(builder.gep(data, [arguments[1]]), vector.as_pointer())
        return _folded(builder, builder.load(place, align=4), LANES, builder.fadd)

    return types.float32(array, types.uint64), codegen


@intrinsic
def kept_by(typingctx, columns, thresholds, paths, treelet, row, free):
    """The children of a treelet that a row reaches along the ``free`` columns (a tuple), as bits.

    Nodes of unordered columns are for the caller. ``row`` has room for ``FAN`` codes behind the last.
    """

    def codegen(context, builder, signature, arguments):
        word, half = ir.IntType(64), ir.IntType(FAN)

        def lanes(i):
            place = _element(context, builder, signature.args[i], arguments[i], arguments[3])
            kind = context.get_data_type(signature.args[i].dtype)
            return builder.load(builder.bitcast(place, ir.VectorType(kind, FAN).as_pointer()), align=kind.width // 8)

        def bits(flags):
            return builder.bitcast(flags, half)

        def everywhere(value):
            return _splat(builder, value, FAN)

        column = lanes(0)
        codes = _codes_of(context, builder, signature.args[4], arguments[4], column)
        goes_right = bits(builder.icmp_unsigned(">=", codes, lanes(1)))
        is_free = ir.Constant(half, 0)
        for one in cgutils.unpack_tuple(builder, arguments[5]):
            here = builder.icmp_unsigned("==", column, everywhere(builder.trunc(one, column.type.element)))
            is_free = builder.or_(is_free, bits(here))
        matters = builder.or_(builder.not_(is_free), ir.Constant(half, 1 << (FAN - 1)))  # the last lane always does
        wanted = ir.Constant(ir.VectorType(half, FAN), [(1 << child) - 1 for child in range(FAN)])
        path = builder.and_(lanes(2), everywhere(matters))
        wrong = builder.and_(builder.xor(everywhere(goes_right), wanted), path)
        kept = builder.icmp_unsigned("==", wrong, ir.Constant(wrong.type, [0] * FAN))
        return builder.zext(bits(kept), word)

    return types.uint64(columns, thresholds, paths, types.uint64, row, free), codegen


def _codes_of(context, builder, row_type, row, column):
    """The codes of a row in the columns of a vector: by a shuffle of bytes, column by column, or by a gather."""
    kind, number = context.get_data_type(row_type.dtype), ir.IntType(32)
    place = _element(context, builder, row_type, row)
    n_columns = builder.sub(
        cgutils.unpack_tuple(builder, context.make_array(row_type)(context, builder, row).shape)[0],
        ir.Constant(ir.IntType(64), FAN),
    )
    vector = ir.VectorType(kind, FAN)
    shuffles = kind.width == column.type.element.width == 8 and "+ssse3" in context.codegen().magic_tuple()[2]
    codes = cgutils.alloca_once(builder, vector)
    few = builder.icmp_unsigned("<=", n_columns, ir.Constant(ir.IntType(64), FAN if shuffles else FEW))
    with builder.if_else(few) as (if_few, if_many):
        with if_few:
            if shuffles:
                shuffle = ir.FunctionType(vector, [vector, vector])
                shuffle = cgutils.get_or_insert_function(builder.module, shuffle, "llvm.x86.ssse3.pshuf.b.128")
                all_codes = builder.load(builder.bitcast(place, vector.as_pointer()), align=1)
                builder.store(builder.call(shuffle, [all_codes, column]), codes)
            else:
                builder.store(ir.Constant(vector, [0] * FAN), codes)
                with cgutils.for_range(builder, n_columns) as loop:
                    j = _splat(builder, builder.trunc(loop.index, column.type.element), FAN)
                    code = _splat(builder, builder.load(builder.gep(place, [loop.index])), FAN)
                    here = builder.icmp_unsigned("==", column, j)
                    builder.store(builder.select(here, code, builder.load(codes)), codes)
        with if_many:
            words = ir.VectorType(ir.IntType(64), FAN)
            places = builder.mul(builder.zext(column, words), ir.Constant(words, [kind.width // 8] * FAN))
            places = builder.add(places, _splat(builder, builder.ptrtoint(place, ir.IntType(64)), FAN))
            places = builder.inttoptr(places, ir.VectorType(number.as_pointer(), FAN))
            numbers, flags = ir.VectorType(number, FAN), ir.VectorType(ir.IntType(1), FAN)
            gather = ir.FunctionType(numbers, [places.type, number, flags, numbers])
            gather = cgutils.get_or_insert_function(builder.module, gather, f"llvm.masked.gather.v{FAN}i32.v{FAN}p0")
            arguments = [places, ir.Constant(number, 1), ir.Constant(flags, [1] * FAN)]
            found = builder.call(gather, [*arguments, ir.Constant(numbers, ir.Undefined)])
            builder.store(builder.trunc(found, vector), codes)
    return builder.load(codes)


@intrinsic
def add_levels(typingctx, energy, at, value, levels, group, leaves, n_leaves):
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
            bits = builder.load(element(3, leaf, arguments[4]), align=1)
            added = builder.select(builder.bitcast(bits, flags), leaf_value, zeros)
            builder.store(builder.fadd(builder.load(total), added), total)
        builder.store(builder.load(total), place, align=4)
        return context.get_dummy_value()

    index = types.uint64
    return types.void(energy, index, value, levels, index, leaves, index), codegen


@intrinsic
def add_to_levels(typingctx, energy, at, levels, leaf, group, value):
    """``energy[at + k] += value`` for each bit k of ``levels[leaf, group]``."""

    def codegen(context, builder, signature, arguments):
        vector, flags = ir.VectorType(ir.FloatType(), LANES), ir.VectorType(ir.IntType(1), LANES)
        place = _element(context, builder, signature.args[0], arguments[0], arguments[1])
        place = builder.bitcast(place, vector.as_pointer())
        bits = builder.load(_element(context, builder, signature.args[2], *arguments[2:5]), align=1)
        zeros = ir.Constant(vector, [0.0] * LANES)
        added = builder.select(builder.bitcast(bits, flags), _splat(builder, arguments[5], LANES), zeros)
        builder.store(builder.fadd(builder.load(place, align=4), added), place, align=4)
        return context.get_dummy_value()

    index = types.uint64
    return types.void(energy, index, levels, index, index, types.float32), codegen


@intrinsic
def prefetch(typingctx, array, index):
    """Ask for ``array[index]`` ahead of its use: what is beyond the second cache takes as long as fifty steps."""

    def codegen(context, builder, signature, arguments):
        pointer, number = ir.IntType(8).as_pointer(), ir.IntType(32)
        place = builder.bitcast(_element(context, builder, signature.args[0], *arguments), pointer)
        function = ir.FunctionType(ir.VoidType(), [pointer, number, number, number])
        prefetch = cgutils.get_or_insert_function(builder.module, function, "llvm.prefetch.p0")
        builder.call(prefetch, [place, *(ir.Constant(number, setting) for setting in (0, 3, 1))])
        return context.get_dummy_value()

    return types.void(array, types.uint64), codegen


@intrinsic
def borrowed(typingctx, array):
    """The same array without a count of references, for inner loops; the one it is taken from must live on.

    Each time that an array is passed on or taken out of a tuple its references are counted, for all threads to see.
    """

    def codegen(context, builder, signature, arguments):
        view = context.make_array(signature.args[0])(context, builder, arguments[0])
        view.meminfo = cgutils.get_null_value(view.meminfo.type)
        view.parent = cgutils.get_null_value(view.parent.type)
        return view._getvalue()

    return array(array), codegen
