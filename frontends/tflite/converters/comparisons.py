"""Comparisons, and operators of what they give."""

from __future__ import annotations

from collections.abc import Callable

from tvm import relax
from tvm.relax import op as R

from frontends.errors import UnsupportedError
from frontends.tflite.converters.context import Context, Operand
from frontends.tflite.converters.registry import data_converter
from frontends.tflite.model import Tensor
from qnn_ops.attributes import dtype_range
from qnn_ops.comparisons import comparison_table
from qnn_ops.errors import QnnError
from qnn_ops.registry import spec_of


def unequal(lhs: relax.Expr, rhs: relax.Expr) -> relax.Expr:
    """Tell where numbers differ; TVM does not find that what is no number differs from all."""
    differ = R.not_equal(lhs, rhs)
    if spec_of(lhs).dtype != "float32":
        return differ
    return R.logical_or(differ, R.logical_or(R.isnan(lhs), R.isnan(rhs)))


_COMPARISONS: dict[str, Callable[..., relax.Expr]] = {
    "EQUAL": R.equal,
    "NOT_EQUAL": unequal,
    "GREATER": R.greater,
    "GREATER_EQUAL": R.greater_equal,
    "LESS": R.less,
    "LESS_EQUAL": R.less_equal,
}
# LiteRT's NOT_EQUAL reads int16 as another type.
_NOT_COMPARED: dict[str, tuple[str, ...]] = {"EQUAL": (), "NOT_EQUAL": ("int16",)}
_LOGICAL: dict[str, Callable[..., relax.Expr]] = {
    "LOGICAL_AND": R.logical_and,
    "LOGICAL_OR": R.logical_or,
    "LOGICAL_NOT": R.logical_not,
}


def compared_by_scale(code: str, tensor: Tensor) -> bool:
    """Tell whether an operator compares a tensor's values by what they stand for."""
    kinds = ("int8", "uint8", "int16") if code == "EQUAL" else ("int8", "uint8")
    return code in _COMPARISONS and tensor.dtype in kinds and tensor.quantization is not None


@data_converter(*_COMPARISONS)
def convert_comparison(ctx: Context) -> relax.Expr:
    """Compare numbers; 8-bit ones, and equal ones of int16, by what they stand for."""
    lhs, rhs = ctx.input(0), ctx.input(1)
    dtype = lhs.tensor.dtype
    if rhs.tensor.dtype != dtype:
        raise QnnError(f"cannot compare {dtype} with {rhs.tensor.dtype}")
    if dtype in _NOT_COMPARED.get(ctx.operator.code, ("bool",)):
        raise UnsupportedError(f"of {dtype}")
    compare = _COMPARISONS[ctx.operator.code]
    return compare(*(ctx.builder.emit(_compared(ctx, operand)) for operand in (lhs, rhs)))


def _compared(ctx: Context, operand: Operand) -> relax.Expr:
    dtype = operand.tensor.dtype
    if dtype == "bool":  # which TVM compares as if it were float
        return R.astype(operand.expr, "int8")
    if dtype not in ("int8", "uint8") and not compared_by_scale(ctx.operator.code, operand.tensor):
        return operand.expr
    table = comparison_table(*operand.quantization, dtype)
    lowest, _ = dtype_range(dtype)
    index = R.subtract(R.astype(operand.expr, "int32"), relax.const(lowest, "int32"))
    return R.take(ctx.values.add_constant(operand.tensor, "_table", table), index, 0, "clip")


@data_converter(*_LOGICAL)
def convert_logical(ctx: Context) -> relax.Expr:
    """Combine what comparisons gave."""
    operands = ctx.inputs()
    if any(operand.tensor.dtype != "bool" for operand in operands):
        raise QnnError("needs operands of type bool")
    return _LOGICAL[ctx.operator.code](*(operand.expr for operand in operands))
