"""The steps of a softmax's rows: tables, largest values, reciprocals and results."""

from tvm.script.ir_builder import tirx as T

from legalize.kernels.ir.rows import for_each_piece, ramp
from legalize.kernels.ir.vectors import (
    Buffer,
    Index,
    Vector,
    get_lanes,
    kept,
    lanes_in,
    local_vector,
    reduced,
    set_lanes,
    splat,
    spread,
    vector_of,
)
from legalize.kernels.isa.base import VectorIsa
from qnn_ops.dialect.attributes import dtype_range
from qnn_ops.tables.softmax import (
    ACCUMULATOR_BITS,
    FORTY_EIGHT_OVER_17,
    LARGEST_SUM,
    MINUS_32_OVER_17,
    NEWTON_STEPS,
)


def byte_tables(isa: VectorIsa, words: Buffer, count: int) -> list[Buffer]:
    """Write the code that splits a table of int32 into tables of its lowest ``count`` bytes."""
    size, (length,) = isa.size, (int(each) for each in words.shape)
    tables = [T.alloc_buffer((length,), "uint8", scope="global") for _ in range(count)]
    with T.serial(length // size) as part:
        index = ramp(part * size, size)
        for place, table in enumerate(tables):
            byte = T.shift_right(words[index], splat("int32", 8 * place, size))
            T.buffer_store(table, T.Cast(f"uint8x{size}", byte), [index])
    return tables


def largest_of(isa: VectorIsa, source: Buffer, start: Index, columns: Index) -> Vector:
    """Write the loop over a row, which may be of open length, that finds its largest value."""
    lanes = isa.size if not isinstance(columns, int) or columns >= isa.size else 1
    dtype = str(source.dtype)
    largest = local_vector(lanes, dtype)
    set_lanes(largest, splat(dtype, dtype_range(dtype)[0], lanes), lanes)

    def compare(offset: Index, width: int) -> None:
        value = source[ramp(start + offset, width)]
        set_lanes(largest, T.max(get_lanes(largest, width), value), width)

    for_each_piece(columns, compare, lanes)
    return reduced("max", get_lanes(largest, lanes))


# The top bit of 1 in a sum, Q12.19; a sum is at least 1.
_ONE_BITS = 31 - ACCUMULATOR_BITS
# The first shift of products of 31 bits; it leaves room in 32 bits for the half that rounds.
_FIRST_SHIFT = 22


def result(exponential: Vector, fraction: Vector, down: Vector, zero_point: int) -> Vector:
    """Multiply exponentials by a fraction.

    Args:
        exponential: int32, Q0.31.
        fraction: int32, Q0.31, one for all or one for each.
        down: int32, one for all or one for each: the right shift of products to 8 bits.
        zero_point: the result's zero point.

    Returns:
        uint8, with the bits of the output's dtype.
    """
    lanes = lanes_in(exponential)
    wide, unsigned = vector_of("int64", lanes), vector_of("uint32", lanes)
    # The fraction is widened after it is repeated, so that it is multiplied as 32 bits.
    factor = T.Cast(wide, spread(fraction, lanes))
    product = T.Cast(wide, exponential) * factor + splat("int64", 1 << 30, lanes)
    high = T.Cast(unsigned, T.shift_right(product, splat("int64", 31, lanes)))
    high = T.shift_right(high, splat("uint32", _FIRST_SHIFT, lanes))
    each = lanes_in(down)
    left = T.Cast(vector_of("uint32", each), down - splat("int32", _FIRST_SHIFT, each))
    one = splat("uint32", 1, each)
    half = T.shift_left(one, left - one)
    steps = T.shift_right(high + spread(half, lanes), spread(left, lanes))
    steps = T.min(steps, splat("uint32", 255, lanes))
    value = T.Cast(vector_of("uint8", lanes), steps)
    return value + splat("uint8", zero_point % 256, lanes)


def term(exponential: Vector, lanes: int) -> Vector:
    """Turn exponentials, Q0.31, into terms of a sum, Q12.19, rounded."""
    unsigned = vector_of("uint32", lanes)
    half = splat("uint32", 1 << (ACCUMULATOR_BITS - 1), lanes)
    term = T.Cast(unsigned, exponential) + half
    term = T.shift_right(term, splat("uint32", ACCUMULATOR_BITS, lanes))
    return T.Cast(vector_of("int32", lanes), term)


def reciprocals(total: Vector, most_bits: int = ACCUMULATOR_BITS - 1) -> tuple[Vector, Vector]:
    """Return qnn_ops.tables.softmax.reciprocal of sums.

    Args:
        total: int32 or int64, one or a vector. A single number is faster in int64.
        most_bits: the sums are below 2 to the power of this and one more.

    Returns:
        Fractions, and the right shifts that reduce products to 8 bits, of the sums' dtype.
    """
    lanes, dtype = lanes_in(total), str(total.ty.dtype).split("x")[0]

    def constant(value: int) -> Vector:
        return splat(dtype, value, lanes)

    bits = constant(0)
    for power in range(_ONE_BITS + 1, _ONE_BITS + 1 + most_bits):
        bits = bits + T.Cast(total.ty.dtype, total >= constant(1 << power))
    bits = kept(bits)
    half_denominator = kept(T.shift_left(total, constant(ACCUMULATOR_BITS - 1) - bits))
    product = _product(half_denominator, constant(MINUS_32_OVER_17))
    x = kept(product + constant(FORTY_EIGHT_OVER_17))
    for _ in range(NEWTON_STEPS):
        error = kept(constant(1 << 29) - _product(half_denominator, x))
        x = kept(x + _product(x, error) * constant(4))
    # Twice the quotient may be 2^31, which is beyond int32.
    unsigned = "u" + dtype
    twice = T.shift_left(T.Cast(vector_of(unsigned, lanes), x), splat(unsigned, 1, lanes))
    twice = T.min(twice, splat(unsigned, LARGEST_SUM, lanes))
    return T.Cast(total.ty.dtype, twice), bits + constant(31 - 8)


def _product(a: Vector, b: Vector) -> Vector:
    """Compute gemmlowp's doubling high product, which fits int32."""
    lanes = lanes_in(a)
    wide = vector_of("int64", lanes)
    product = T.Cast(wide, a) * T.Cast(wide, b) + splat("int64", 1 << 30, lanes)
    return T.Cast(a.ty.dtype, T.shift_right(product, splat("int64", 31, lanes)))
