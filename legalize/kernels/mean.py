"""Means of bytes along neighbouring axes.

Bytes are added in 16 bits, up to 256 at a time, and these sums in 32.
"""

from dataclasses import dataclass
from functools import cache
from itertools import groupby
from math import prod

import numpy as np
from tvm import tirx
from tvm.script.ir_builder import tirx as T

from legalize.kernels.call import call_written
from legalize.kernels.ir.arithmetic import LARGEST, rescaled, round_half_even
from legalize.kernels.ir.rows import for_each_piece, powers_of_two, ramp
from legalize.kernels.ir.tasks import shared_loop, task_count
from legalize.kernels.ir.vectors import (
    Buffer,
    Index,
    Vector,
    lanes_in,
    reduced,
    splat,
    vector_of,
)
from legalize.kernels.isa.base import VectorIsa
from legalize.kernels.kernel import Builder, Lowered, Operands
from legalize.written import arguments, new_function
from qnn_ops import quantized_mean
from qnn_ops.arithmetic.onnxruntime import is_onnxruntime, mean_factor
from qnn_ops.arithmetic.xnnpack import is_xnnpack
from qnn_ops.dialect.registry import Attrs, spec_of
from qnn_ops.quantized.mean import LARGEST_SUM, averaged, multiplier_of

# The number of bytes whose sum fits 16 bits.
_BLOCK = 256
# Roughly what one thread adds.
_BYTES_PER_MICROSECOND = 20_000


@dataclass(frozen=True)
class Rescaling:
    """The rescaling by which MEAN turns a sum into a result.

    Attributes:
        input_zero_point: the data's zero point.
        output_zero_point: the result's zero point.
        multiplier: the multiplier of sums, in fixed point.
        shift: the multiplier's shift.
    """

    input_zero_point: int
    output_zero_point: int
    multiplier: int
    shift: int


@dataclass(frozen=True)
class Rounding:
    """The rescaling of QLinearGlobalAveragePool, in float32, rounded half to even.

    Attributes:
        input_zero_point: the data's zero point.
        output_zero_point: the result's zero point.
        factor: the factor of sums, a float32.
    """

    input_zero_point: int
    output_zero_point: int
    factor: float


@dataclass(frozen=True)
class Division:
    """The division of AVERAGE_POOL_2D.

    Attributes:
        origin: the value from which ties round away.
        bounds: the lowest and highest result.
    """

    origin: int
    bounds: tuple[int, int]


@dataclass(frozen=True)
class MeanSpec:
    """One mean.

    Attributes:
        in_shape: the data's shape.
        out_shape: the result's shape.
        axes: the number of values before the averaged axes, along them, and after them.
        in_dtype: int8 or uint8.
        out_dtype: int8 or uint8.
        finish: turns the sums into results.
    """

    in_shape: tuple[int, ...]
    out_shape: tuple[int, ...]
    axes: tuple[int, int, int]
    in_dtype: str
    out_dtype: str
    finish: Rescaling | Rounding | Division


@cache
def mean(isa: VectorIsa, spec: MeanSpec) -> tirx.PrimFunc:
    """Build the function that averages.

    Returns:
        A function of the data and the output.
    """
    outer, count, inner = spec.axes
    with new_function("mean") as builder:
        source, target = arguments(
            data=(spec.in_shape, spec.in_dtype), output=(spec.out_shape, spec.out_dtype)
        )
        tasks = task_count(prod(spec.axes) / _BYTES_PER_MICROSECOND)

        def columns(start: Index, place: Index, lanes: int) -> None:
            total = _sum_of_rows(source, spec.in_dtype, start, count, inner, lanes)
            T.buffer_store(target, _averaged(spec, total), [ramp(place, lanes)])

        def row(number: Index) -> None:
            if inner == 1:
                total = _sum_of_row(isa, source, spec.in_dtype, number * count, count)
                T.buffer_store(target, _averaged(spec, total), [number])
                return
            start, place = number * (count * inner), number * inner

            def piece(offset: Index, lanes: int) -> None:
                columns(start + offset, place + offset, lanes)

            for_each_piece(inner, piece, isa.size)

        shared_loop(tasks, outer, row)
    return builder.get()


def _sum_of_rows(
    source: Buffer, dtype: str, start: Index, count: int, pitch: int, lanes: int
) -> Vector:
    """Write the sums of bytes ``pitch`` apart, for neighbouring columns."""
    index = ramp(0, lanes)

    def block(first: Index, rows: int) -> Vector:
        words = T.alloc_buffer((lanes,), _word(dtype), scope="global")
        T.buffer_store(words, splat(_word(dtype), 0, lanes), [index])
        with T.serial(rows) as i:
            value = source[ramp(first + i * pitch, lanes)]
            T.buffer_store(words, words[index] + _cast(_word(dtype), value), [index])
        return _cast("int32", words[index])

    blocks, rest = divmod(count, _BLOCK)
    if not blocks:
        return block(start, count)
    total = T.alloc_buffer((lanes,), "int32", scope="global")
    T.buffer_store(total, splat("int32", 0, lanes), [index])
    with T.serial(blocks) as number:
        part = block(start + number * (_BLOCK * pitch), _BLOCK)
        T.buffer_store(total, total[index] + part, [index])
    if rest:
        part = block(start + blocks * _BLOCK * pitch, rest)
        T.buffer_store(total, total[index] + part, [index])
    return total[index]


def _sum_of_row(isa: VectorIsa, source: Buffer, dtype: str, start: Index, count: int) -> Vector:
    """Write the sum of neighbouring bytes."""
    total = T.alloc_buffer((1,), "int32", scope="global")
    T.buffer_store(total, T.int32(0), [0])
    whole, rest = divmod(count, isa.size)
    if whole:
        sums = _sum_of_rows(source, dtype, start, whole, isa.size, isa.size)
        T.buffer_store(total, reduced("add", sums), [0])
    for offset, lanes in powers_of_two(rest):
        value = _cast("int32", source[ramp(start + whole * isa.size + offset, lanes)])
        T.buffer_store(total, total[0] + reduced("add", value), [0])
    return total[0]


def _averaged(spec: MeanSpec, total: Vector) -> Vector:
    if isinstance(spec.finish, Division):
        result = _divided(spec.finish, total, spec.axes[1])
        ends = spec.finish.bounds
    else:
        limits = np.iinfo(spec.out_dtype)
        ends = int(limits.min), int(limits.max)
        if isinstance(spec.finish, Rounding):
            result = _rounded(spec.finish, total, spec.axes[1], ends)
        else:
            result = _rescaled(spec.finish, total, spec.axes[1])
    low, high = (splat("int32", end, lanes_in(total)) for end in ends)
    return _cast(spec.out_dtype, T.max(T.min(result, high), low))


def _rescaled(finish: Rescaling, total: Vector, count: int) -> Vector:
    lanes = lanes_in(total)
    total = total - splat("int32", count * finish.input_zero_point, lanes)
    if finish.shift > 0:
        limit = splat("int32", LARGEST_SUM, lanes)
        total = T.max(T.min(total, limit), -limit)
    result = rescaled(total, finish.multiplier, finish.shift)
    return result + splat("int32", finish.output_zero_point, lanes)


def _rounded(finish: Rounding, total: Vector, count: int, ends: tuple[int, int]) -> Vector:
    lanes = lanes_in(total)
    total = total - splat("int32", count * finish.input_zero_point, lanes)
    value = _cast("float32", total) * splat("float32", finish.factor, lanes)
    low, high = (splat("float32", end - finish.output_zero_point, lanes) for end in ends)
    whole = round_half_even(T.max(T.min(value, high), low))
    return whole + splat("int32", finish.output_zero_point, lanes)


def _divided(finish: Division, total: Vector, count: int) -> Vector:
    """Divide magnitudes: rounding half away from the origin is symmetric."""
    lanes = lanes_in(total)
    centred = total - splat("int32", count * finish.origin, lanes)
    size = T.max(centred, -centred) + splat("int32", count // 2, lanes)
    magnitude = T.truncdiv(size, splat("int32", count, lanes))
    signed = T.Select(centred < splat("int32", 0, lanes), -magnitude, magnitude)
    return signed + splat("int32", finish.origin, lanes)


def _word(dtype: str) -> str:
    return "int16" if dtype == "int8" else "uint16"


def _cast(dtype: str, value: Vector) -> Vector:
    lanes = lanes_in(value)
    return T.Cast(vector_of(dtype, lanes), value)


def _mean(builder: Builder, attrs: Attrs, operands: Operands, *, isa: VectorIsa) -> Lowered:
    if is_xnnpack(attrs):
        return None
    data = spec_of(operands[0])
    axes, count = averaged(attrs, data.shape)
    merged = _merged(data.shape, axes)
    if merged is None or not axes or count * 255 > LARGEST or 0 in data.shape:
        return None
    out_shape = tuple(
        1 if axis in axes else size
        for axis, size in enumerate(data.shape)
        if attrs.keepdims or axis not in axes
    )
    finish = _finish(attrs, count)
    if finish is None:
        return None
    spec = MeanSpec(data.shape, out_shape, merged, data.dtype, attrs.out_dtype, finish)
    return call_written(builder, mean(isa, spec), operands[:1])


def _finish(attrs: Attrs, count: int) -> Rescaling | Rounding | None:
    """Return the rescaling of sums of ``count`` values; None if their scale leaves float32."""
    points = attrs.input_zero_point, attrs.output_zero_point
    if not is_onnxruntime(attrs):
        return Rescaling(*points, *multiplier_of(attrs, count))
    factor = mean_factor(attrs, count)
    return Rounding(*points, factor) if np.isfinite(factor) else None


def _merged(shape: tuple[int, ...], axes: tuple[int, ...]) -> tuple[int, int, int] | None:
    """Count the values before, along and after the axes; None unless the axes are adjacent."""
    # An axis of size 1 may count on either side.
    kinds = [(axis in axes, size) for axis, size in enumerate(shape) if size != 1]
    runs = [
        (is_averaged, prod(size for _, size in run))
        for is_averaged, run in groupby(kinds, key=lambda kind: kind[0])
    ]
    if sum(is_averaged for is_averaged, _ in runs) > 1:
        return None
    sizes = [size for _, size in runs]
    if not any(is_averaged for is_averaged, _ in runs):
        return prod(sizes), 1, 1
    before = 1 if runs[0][0] else sizes.pop(0)
    return before, sizes[0], sizes[1] if len(sizes) > 1 else 1


RULES = ((quantized_mean, _mean),)
