"""Converts float32 to bytes and back."""

from collections.abc import Callable
from functools import cache
from math import prod

import numpy as np
from tvm import tirx
from tvm.script.ir_builder import tirx as T

from legalize.kernels.call import call_written
from legalize.kernels.ir.arithmetic import round_half_away, zero_for_nan
from legalize.kernels.ir.rows import for_each_piece, ramp
from legalize.kernels.ir.tasks import task_count
from legalize.kernels.ir.vectors import Index, Vector, splat, vector_of
from legalize.kernels.isa.base import VectorIsa
from legalize.kernels.kernel import Builder, Lowered, Operands
from legalize.written import arguments, new_function
from qnn_ops import dequantize, quantize
from qnn_ops.dialect.attributes import LITERT, QUANTIZED
from qnn_ops.dialect.registry import Attrs, spec_of

# Roughly what one thread converts.
_VALUES_PER_MICROSECOND = 4_000


@cache
def _to_bytes(
    isa: VectorIsa, shape: tuple[int, ...], scale: float, zero_point: int, dtype: str
) -> tirx.PrimFunc:
    """Build the function that quantizes float32 with one scale."""
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
def _to_floats(
    isa: VectorIsa, shape: tuple[int, ...], scale: float, zero_point: int, dtype: str
) -> tirx.PrimFunc:
    """Build the function that dequantizes bytes with one scale to float32."""

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
    """Build a function of the data and the output."""
    size = prod(shape)
    with new_function(name) as builder:
        source, target = arguments(data=(shape, in_dtype), output=(shape, out_dtype))

        def piece(offset: Index, lanes: int) -> None:
            index = ramp(offset, lanes)
            T.buffer_store(target, convert(source[index], lanes), [index])

        tasks = task_count(size / _VALUES_PER_MICROSECOND)
        for_each_piece(size, piece, isa.size, tasks=tasks)
    return builder.get()


def _quantize(builder: Builder, attrs: Attrs, operands: Operands, *, isa: VectorIsa) -> Lowered:
    shape, dtype = spec_of(operands[0]).shape, attrs.out_dtype
    # Primitives that round half to even are vector code, too. They fuse with the operator that
    # computes the data.
    by_primitives = hasattr(attrs, "multiplier") or attrs.arithmetic != LITERT
    if by_primitives or not _is_served(attrs, shape, dtype):
        return None
    function = _to_bytes(isa, shape, attrs.scale, attrs.zero_point, dtype)
    return call_written(builder, function, operands)


def _dequantize(builder: Builder, attrs: Attrs, operands: Operands, *, isa: VectorIsa) -> Lowered:
    data = spec_of(operands[0])
    if not _is_served(attrs, data.shape, data.dtype):
        return None
    function = _to_floats(isa, data.shape, attrs.scale, attrs.zero_point, data.dtype)
    return call_written(builder, function, operands)


def _is_served(attrs: Attrs, shape: tuple[int, ...], dtype: str) -> bool:
    is_per_tensor = not isinstance(attrs.scale, tuple) and not isinstance(attrs.zero_point, tuple)
    return is_per_tensor and dtype in QUANTIZED and bool(shape) and 0 not in shape


RULES = (
    (quantize, _quantize),
    (dequantize, _dequantize),
)
