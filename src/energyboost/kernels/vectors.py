"""Vector code that Numba does not find by itself, written in the words of LLVM."""

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from energyboost.kernels.arrays import FAN, IMPOSSIBLE, LANES

# No NaN occurs, and sums may be reordered: vector code, the same on every call, not on every kind of processor.
FAST = {"reassoc", "contract", "arcp", "nsz", "nnan"}
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
    def weigh(typingctx, energy, base, first, cold, n_codes, weight, start):
        """Write (slice + base) * cold to ``weight[start:]`` and return the largest; the slice is cleared."""

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
                builder.store(total, place(5, builder.add(arguments[6], at)), align=4)
                most = builder.load(top)
                builder.store(builder.select(builder.fcmp_ordered(">", total, most), total, most), top)
            builder.store(zeros, place(0, arguments[4]), align=4)
            return _folded(
                builder, builder.load(top), LANES, lambda a, b: builder.select(builder.fcmp_ordered(">", a, b), a, b)
            )

        word = types.uint64
        return types.float32(energy, base, word, types.float32, word, weight, word), codegen

    return weigh


weigh_jumps, weigh_values = _weigher(jumps=True), _weigher(jumps=False)


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
def lost_to(typingctx, columns, thresholds, sides, treelet, row, free):
    """The children of a treelet that its nodes of ordered columns, but for the ``free`` ones (a tuple), shut out."""

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
        counts = ir.Constant(flags, [1] * (FAN - 1) + [0])
        for free in cgutils.unpack_tuple(builder, arguments[5]):
            free = _splat(builder, builder.trunc(free, number), FAN)
            counts = builder.and_(builder.icmp_unsigned("!=", node_column, free), counts)
        lost = builder.select(counts, lost, constant([0] * FAN))
        return builder.zext(_folded(builder, lost, FAN, builder.or_), word)

    return types.uint64(columns, thresholds, sides, types.uint64, row, free), codegen


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
