"""Computes the encodings of rows of float32, and quantizes the rows to bytes.

for each row
low, high = min(row), max(row)
encode them
for each row
for each x
output = round(x·steps) + zero point, clamped; or round(x / scale) + zero point
"""

from collections.abc import Callable
from functools import cache, partial
from math import prod
from typing import Any

import numpy as np
from tvm import tirx
from tvm.script.ir_builder import tirx as T

from legalize.kernels.call import call_written
from legalize.kernels.ir.arithmetic import (
    fused_multiply_add,
    magnitude_bits,
    or_for_nan,
    round_half_away,
    round_half_even,
    zero_for_nan,
)
from legalize.kernels.ir.rows import for_each_piece, ramp
from legalize.kernels.ir.tasks import shared_loop, task_count
from legalize.kernels.ir.vectors import (
    Buffer,
    Index,
    Vector,
    get_lanes,
    instruction,
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
from legalize.kernels.kernel import Builder, Lowered, Operands
from legalize.written import arguments, new_function, own_sizes
from qnn_ops import dynamic_encoding, dynamic_quantize
from qnn_ops.arithmetic.onnxruntime import ONNXRUNTIME
from qnn_ops.dialect.registry import Attrs, spec_of
from qnn_ops.dialect.sizes import is_open
from qnn_ops.quantized.dynamic_quantization import FIELDS, LARGEST_STEPS, OFFSETS

# Roughly what one thread reads.
_VALUES_PER_MICROSECOND = 8_000
# If divisor and inverse are at least this large, no part of a quotient leaves float32.
_LEAST_DIVISOR = 2.0**-60
_MOST_QUOTIENT = 512.0
# The largest number below one half: adding it rounds ties away from zero when truncated.
_ALMOST_HALF = float(np.nextafter(0.5, 0.0))


@cache
def encode(
    isa: VectorIsa, shape: tuple[int, ...], asymmetric: bool, arithmetic: str, whole: bool
) -> tirx.PrimFunc:
    """Build the function that finds the encoding of each row, or of the whole tensor.

    Returns:
        A function of the data and the encodings.
    """
    with new_function("dynamic_encoding") as builder:
        own: dict[str, Any] = {}
        shape = own_sizes(shape, own)
        rows, columns = (1, prod(shape)) if whole else (prod(shape[:-1]), shape[-1])
        result = (FIELDS,) if whole else (*shape[:-1], FIELDS)
        source, target = arguments(data=(shape, "float32"), output=(result, "float32"))

        def row(number: Index) -> None:
            low, high = _ends(isa, source, number * columns, columns, asymmetric)
            if arithmetic == ONNXRUNTIME:
                fields = _onnxruntime(low, high)
            else:
                fields = _asymmetric(low, high) if asymmetric else _symmetric(high)
            for place, field in enumerate(fields):
                T.buffer_store(target, field, [number * FIELDS + place])

        values = rows * columns if not own else 0
        shared_loop(task_count(values / _VALUES_PER_MICROSECOND), rows, row)
    return builder.get()


def _ends(
    isa: VectorIsa, source: Buffer, start: Index, columns: Any, signed: bool
) -> tuple[Vector, Vector]:
    """Write the loop that finds the least and largest of a row and 0, or the largest magnitude."""
    lanes = isa.size if not isinstance(columns, int) or columns >= isa.size else 1
    low, high = (local_vector(lanes, "float32") for _ in range(2))
    for end in (low, high):
        set_lanes(end, splat("float32", 0.0, lanes), lanes)

    def visit(offset: Index, lanes: int) -> None:
        value = source[ramp(start + offset, lanes)]
        if signed:
            set_lanes(low, T.min(value, get_lanes(low, lanes)), lanes)
        else:
            value = T.reinterpret(vector_of("float32", lanes), magnitude_bits(value))
        # A NaN does not count as larger.
        set_lanes(high, T.max(value, get_lanes(high, lanes)), lanes)

    for_each_piece(columns, visit, lanes)
    return kept(reduced("min", get_lanes(low, lanes))), kept(reduced("max", get_lanes(high, lanes)))


def _symmetric(size: Vector) -> list[Vector]:
    one, most = T.float32(1), T.float32(127)
    is_zero = size <= T.float32(0)
    divisor = kept(T.Select(is_zero, most, size))
    return [divisor / most, T.Select(is_zero, one, most / divisor), T.float32(0)]


def _asymmetric(low: Vector, high: Vector) -> list[Vector]:
    length = kept(high - low)
    is_zero = length <= T.float32(0)
    part = T.Cast("float64", length) / T.float64(255)
    exact = kept(T.Select(is_zero, T.float64(1), part))
    below = kept(T.Cast("float64", low) / exact)
    above = kept(T.Cast("float64", high) / exact)
    takes_low = T.float64(128) - below < T.float64(127) + above
    point = kept(T.Select(takes_low, T.float64(-128) - below, T.float64(127) - above))
    point = kept(T.max(T.min(point, T.float64(127)), T.float64(-128)))
    half = instruction("float64", "llvm.copysign.f64", T.float64(_ALMOST_HALF), point)
    whole = T.Cast("float32", T.Cast("int32", point + half))
    is_finite = length <= T.float32(float(np.finfo(np.float32).max))
    has_point = T.Select(is_zero, T.float32(0), T.Select(is_finite, whole, T.float32(0)))
    scale = kept(T.Cast("float32", exact))
    return [scale, T.float32(1) / scale, has_point]


def _onnxruntime(low: Vector, high: Vector) -> list[Vector]:
    length = kept(high - low)
    one = T.float32(1)
    scale = kept(T.Select(length <= T.float32(0), one, length / T.float32(255)))
    end = kept(T.float32(0) - low / scale)
    bounded = kept(T.max(T.min(end, T.float32(255)), T.float32(0)))
    is_finite = length <= T.float32(float(np.finfo(np.float32).max))
    point = T.Select(is_finite, round_half_even(bounded), T.int32(0))
    return [scale, one / scale, T.Cast("float32", point - T.int32(128))]


@cache
def quantize(
    isa: VectorIsa, shape: tuple[int, ...], dtype: str, arithmetic: str, whole: bool
) -> tirx.PrimFunc:
    """Build the function that quantizes rows by their encodings, or a whole tensor by one.

    Returns:
        A function of the data, the encodings and the output.
    """
    rows, columns = (1, prod(shape)) if whole else (prod(shape[:-1]), shape[-1])
    with new_function("dynamic_quantize") as builder:
        encodings = (FIELDS,) if whole else (*shape[:-1], FIELDS)
        source, fields, target = arguments(
            data=(shape, "float32"), encoding=(encodings, "float32"), output=(shape, dtype)
        )

        def row(number: Index) -> None:
            start = number * columns
            is_quotient = arithmetic == ONNXRUNTIME
            units = kept(fields[number * FIELDS + (0 if is_quotient else 1)])
            point = kept(T.Cast("int32", fields[number * FIELDS + 2]))

            def convert(converted: Callable[..., Vector]) -> None:
                def piece(offset: Index, lanes: int) -> None:
                    index = ramp(start + offset, lanes)
                    value = converted(source[index], units, point, lanes, dtype)
                    T.buffer_store(target, value, [index])

                for_each_piece(columns, piece, isa.size)

            if not is_quotient or not isa.fuses_products:
                convert(_divided if is_quotient else _quantized)
                return
            inverse = kept(T.float32(1) / units)
            with T.If(T.min(units, inverse) >= T.float32(_LEAST_DIVISOR)):
                with T.Then():
                    convert(partial(_divided, inverse=inverse))
                with T.Else():
                    convert(_divided)

        shared_loop(task_count(rows * columns / _VALUES_PER_MICROSECOND), rows, row)
    return builder.get()


def _quantized(value: Vector, units: Vector, point: Vector, lanes: int, dtype: str) -> Vector:
    steps = zero_for_nan(value * spread(units, lanes))
    # A clamp before a half is added also keeps product and sum from being fused.
    most = LARGEST_STEPS
    steps = T.max(T.min(steps, splat("float32", most, lanes)), splat("float32", -most, lanes))
    whole = round_half_away(steps) + spread(point, lanes)
    whole = T.max(T.min(whole, splat("int32", 127, lanes)), splat("int32", -128, lanes))
    moved = whole + splat("int32", OFFSETS[dtype], lanes)
    return T.Cast(vector_of(dtype, lanes), moved)


def _divided(
    value: Vector,
    scale: Vector,
    point: Vector,
    lanes: int,
    dtype: str,
    inverse: Vector | None = None,
) -> Vector:
    ends = (T.Cast("float32", T.int32(end) - point) for end in (-128, 127))
    low, high = (spread(kept(end), lanes) for end in ends)
    divisor = spread(scale, lanes)
    quotient = value / divisor if inverse is None else _quotient(value, divisor, inverse)
    # A NaN becomes the lowest value.
    steps = or_for_nan(kept(quotient), low)
    whole = round_half_even(T.max(T.min(steps, high), low))
    moved = spread(point + T.int32(OFFSETS[dtype]), lanes)
    return T.Cast(vector_of(dtype, lanes), whole + moved)


def _quotient(value: Vector, divisor: Vector, inverse: Vector) -> Vector:
    """Divide by a number whose inverse is known: a division takes twice as long as all the rest.

    The quotient is rounded correctly (P. Markstein, IBM Journal of Research and Development 34,
    1990) if no part of it is too large or too small. His first quotient is off by one unit at most.
    This one is off by less than 1.5 units, and by nearly that only if both numbers are just below a
    power of two: then the quotient is far from the middle of two floats. A quotient beyond the
    bound stays beyond every zero point. One below the bound's inverse rounds to 0.
    """
    lanes = lanes_in(value)
    factor, bound = spread(inverse, lanes), splat("float32", _MOST_QUOTIENT, lanes)
    near = kept(T.max(T.min(value * factor, bound), splat("float32", -_MOST_QUOTIENT, lanes)))
    rest = fused_multiply_add(near, splat("float32", 0.0, lanes) - divisor, value)
    return fused_multiply_add(rest, factor, near)


def _encode(builder: Builder, attrs: Attrs, operands: Operands, *, isa: VectorIsa) -> Lowered:
    shape, whole = spec_of(operands[0]).shape, attrs.whole
    # Rows of an open number are separate.
    if 0 in shape or (is_open(shape) and not whole):
        return None
    function = encode(isa, shape, bool(attrs.asymmetric), attrs.arithmetic, whole)
    return call_written(builder, function, operands)


def _quantize(builder: Builder, attrs: Attrs, operands: Operands, *, isa: VectorIsa) -> Lowered:
    shape = spec_of(operands[0]).shape
    if 0 in shape:
        return None
    whole = spec_of(operands[1]).shape == (FIELDS,)
    function = quantize(isa, shape, attrs.out_dtype, attrs.arithmetic, whole)
    return call_written(builder, function, operands)


RULES = (
    (dynamic_encoding, _encode),
    (dynamic_quantize, _quantize),
)
OPEN = (_encode,)
"""The rules that also take open sizes."""
