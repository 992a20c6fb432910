"""Bitwise operators, shifts, operators of StableHLO on integers, and BITCAST."""

from __future__ import annotations

from collections.abc import Callable
from math import prod

import numpy as np
from tvm import relax
from tvm.relax import op as R

from frontends.errors import UnsupportedError
from frontends.tflite.converters.context import Context, reshaped
from frontends.tflite.converters.fixed_point import number
from frontends.tflite.converters.registry import data_converter
from qnn_ops import reinterpret
from qnn_ops.errors import QnnError
from qnn_ops.float_arithmetic import OTHER
from qnn_ops.registry import spec_of
from qnn_ops.rounded import rounded

_INTEGERS = ("int8", "uint8", "int16", "int32")
_SHIFTED = ("int8", "int16", "int32")
_ELEMENTWISE: dict[str, Callable[..., relax.Expr]] = {
    "STABLEHLO_ADD": R.add,
    "STABLEHLO_MAXIMUM": R.maximum,
    "STABLEHLO_MINIMUM": R.minimum,
    "STABLEHLO_MULTIPLY": R.multiply,
}
_OF_BOOL: dict[str, Callable[..., relax.Expr]] = {
    "STABLEHLO_ADD": R.logical_or,
    "STABLEHLO_MAXIMUM": R.logical_or,
    "STABLEHLO_MINIMUM": R.logical_and,
    "STABLEHLO_MULTIPLY": R.logical_and,
}


@data_converter("BITWISE_XOR")
def convert_xor(ctx: Context) -> relax.Expr:
    """Tell where bits differ."""
    return R.bitwise_xor(*_operands(ctx, _INTEGERS))


@data_converter("RIGHT_SHIFT")
def convert_right_shift(ctx: Context) -> relax.Expr:
    """Shift to the right, by none at least and by all bits but one at most."""
    data, count = _operands(ctx, _INTEGERS)
    most = np.iinfo(ctx.output().dtype).bits - 1
    wide = R.astype(count, "int32")
    inside = R.minimum(R.maximum(wide, relax.const(np.int32(0))), relax.const(np.int32(most)))
    return R.astype(R.right_shift(R.astype(data, "int32"), inside), ctx.output().dtype)


@data_converter("STABLEHLO_SHIFT_LEFT")
def convert_left_shift(ctx: Context) -> relax.Expr:
    """Shift to the left; all bits leave by a count beyond 31 or below 0, undefined in LiteRT."""
    # In 64 bits, as TVM lets LLVM assume that nothing overflows.
    data, count = (R.astype(each, "int64") for each in _operands(ctx, _SHIFTED))
    count = ctx.builder.emit(count)
    inside = R.bitwise_and(count, number(31))
    shifted = R.astype(R.left_shift(data, inside), ctx.output().dtype)
    return R.where(R.equal(count, inside), shifted, R.zeros((), ctx.output().dtype))


@data_converter("STABLEHLO_AND")
def convert_stablehlo_and(ctx: Context) -> relax.Expr:
    """Keep the bits that both have."""
    operands, is_bool = _operands(ctx, (*_INTEGERS, "int64", "bool")), ctx.output().dtype == "bool"
    return (R.logical_and if is_bool else R.bitwise_and)(*operands)


@data_converter(*_ELEMENTWISE)
def convert_stablehlo(ctx: Context) -> relax.Expr:
    """Combine tensors of one shape, whatever scales the file states; integers wrap."""
    code, dtype = ctx.operator.code, ctx.output().dtype
    lhs, rhs = _operands(ctx, (*_INTEGERS, "int64", "bool", "float32"))
    if dtype == "bool":
        return _OF_BOOL[code](lhs, rhs)
    function = _ELEMENTWISE[code]
    if dtype == "float32":
        return rounded(ctx.builder.emit(function(lhs, rhs)))
    # In 64 bits, as TVM lets LLVM assume that nothing overflows.
    return R.astype(function(R.astype(lhs, "int64"), R.astype(rhs, "int64")), dtype)


def _operands(ctx: Context, dtypes: tuple[str, ...]) -> list[relax.Expr]:
    operands, dtype = ctx.inputs(), ctx.output().dtype
    types = {operand.tensor.dtype for operand in operands}
    if types != {dtype} or dtype not in dtypes or len(operands) != 2:
        raise UnsupportedError(f"from {sorted(types)} to {dtype}")
    if operands[0].shape != operands[1].shape and ctx.operator.code.startswith("STABLEHLO"):
        raise UnsupportedError(f"shapes {operands[0].shape} and {operands[1].shape} differ")
    return [operand.expr for operand in operands]


_BITS = {"int8": 8, "uint8": 8, "int16": 16, "int32": 32, "int64": 64}


@data_converter("BITCAST")
def convert_bitcast(ctx: Context) -> relax.Expr:
    """Read numbers as others of the same bytes, the lowest byte first.

    Wider numbers are taken apart along a new last axis, narrower ones are joined along it.
    """
    data = ctx.input(0)
    return read_as(ctx, data.expr, data.tensor.dtype, ctx.output().dtype)


def read_as(ctx: Context, data: relax.Expr, source: str, dtype: str) -> relax.Expr:
    """Read numbers of one type as those of another."""
    if source == dtype:
        return data
    if not {source, dtype} <= {*_BITS, "float32"}:
        raise UnsupportedError(f"from {source} to {dtype}")
    bits = _as_other(ctx, data) if source == "float32" else data
    inner = ["int32" if each == "float32" else each for each in (source, dtype)]
    result = bits if len({*inner}) == 1 else _integers(ctx, bits, inner[0], inner[1])
    return _as_other(ctx, result) if dtype == "float32" else result


def _as_other(ctx: Context, expr: relax.Expr) -> relax.Expr:
    """Return the bits of float32 as int32, or back."""
    typed = ctx.builder.emit(expr)
    shape = spec_of(typed).shape
    if 0 in shape:
        return R.zeros(shape, OTHER[spec_of(typed).dtype])
    flat = ctx.builder.emit(reshaped(typed, (prod(shape),)))
    return reshaped(ctx.builder.emit(reinterpret(flat)), shape)


def _integers(ctx: Context, data: relax.Expr, source: str, dtype: str) -> relax.Expr:
    """Read integers of one type as those of another."""
    data = ctx.builder.emit(data)
    shape = spec_of(data).shape
    emit, narrow = ctx.builder.emit, min(_BITS[source], _BITS[dtype])
    parts = max(_BITS[source], _BITS[dtype]) // narrow
    if parts == 1:
        return R.astype(data, dtype)
    shifts = relax.const(np.arange(parts) * narrow, "int64")
    wide = emit(R.astype(data, "int64"))
    if _BITS[source] > narrow:
        return R.astype(R.right_shift(emit(reshaped(wide, (*shape, 1))), shifts), dtype)
    if not shape or shape[-1] != parts:
        raise QnnError(f"{ctx.tensor(0).label} has shape {shape}, needs {parts} at its end")
    bits = emit(R.bitwise_and(wide, number(2**narrow - 1)))
    return R.astype(R.sum(emit(R.left_shift(bits, shifts)), [-1]), dtype)
