"""Converts float32 to bytes and back."""

from collections.abc import Callable
from functools import cache
from math import prod

import numpy as np
from tvm import tirx
from tvm.script.ir_builder import tirx as T

from legalize.kernels.ir.arithmetic import round_half_away, zero_for_nan
from legalize.kernels.ir.rows import for_each_piece, ramp
from legalize.kernels.ir.tasks import task_count
from legalize.kernels.ir.vectors import Index, Vector, splat, vector_of
from legalize.kernels.isa.base import VectorIsa
from legalize.written import flat, new_function

# Roughly what one thread converts.
_VALUES_PER_MICROSECOND = 4_000


@cache
def quantize(
    isa: VectorIsa, shape: tuple[int, ...], scale: float, zero_point: int, dtype: str
) -> tirx.PrimFunc:
    """Build the function that quantizes float32 with one scale.

    Returns:
        A function of the data and the output.
    """
    ends = np.iinfo(dtype)

    def convert(value: Vector, lanes: int) -> Vector:
        steps = value / splat("float32", scale, lanes)
        # NaN gives the zero point.
        steps = zero_for_nan(steps)
        low = splat("float32", float(int(ends.min) - zero_point), lanes)
        high = splat("float32", float(int(ends.max) - zero_point), lanes)
        steps = T.max(T.min(steps, high), low)
        rounded = round_half_away(steps)
        return T.Cast(vector_of(dtype, lanes), rounded + splat("int32", zero_point, lanes))

    return _elementwise(isa, "quantize", shape, "float32", dtype, convert)


@cache
def dequantize(
    isa: VectorIsa, shape: tuple[int, ...], scale: float, zero_point: int, dtype: str
) -> tirx.PrimFunc:
    """Build the function that dequantizes bytes with one scale to float32.

    Returns:
        A function of the data and the output.
    """

    def convert(value: Vector, lanes: int) -> Vector:
        steps = T.Cast(vector_of("int32", lanes), value) - splat("int32", zero_point, lanes)
        return T.Cast(vector_of("float32", lanes), steps) * splat("float32", scale, lanes)

    return _elementwise(isa, "dequantize", shape, dtype, "float32", convert)


def _elementwise(
    isa: VectorIsa,
    name: str,
    shape: tuple[int, ...],
    in_dtype: str,
    out_dtype: str,
    convert: Callable[[Vector, int], Vector],
) -> tirx.PrimFunc:
    size = prod(shape)
    with new_function(name) as builder:
        data = T.arg("data", T.buffer(shape, in_dtype))
        output = T.arg("output", T.buffer(shape, out_dtype))
        source, target = flat(data), flat(output)

        def piece(offset: Index, lanes: int) -> None:
            index = ramp(offset, lanes)
            T.buffer_store(target, convert(source[index], lanes), [index])

        tasks = task_count(size / _VALUES_PER_MICROSECOND)
        for_each_piece(size, piece, isa.size, tasks=tasks)
    return builder.get()
