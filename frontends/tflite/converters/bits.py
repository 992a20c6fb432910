"""BITWISE_XOR, RIGHT_SHIFT and operators of StableHLO, on integers of any meaning."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from tvm import relax
from tvm.relax import op as R

from frontends.errors import UnsupportedError
from frontends.tflite.converters.context import Context
from frontends.tflite.converters.fixed_point import number
from frontends.tflite.converters.registry import data_converter
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
