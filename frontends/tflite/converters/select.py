"""SELECT and SELECT_V2."""

from __future__ import annotations

from math import prod

from tvm import relax
from tvm.relax import op as R

from frontends.tflite.converters.context import Context, reshaped
from frontends.tflite.converters.registry import data_converter
from qnn_ops.errors import QnnError


@data_converter("SELECT", "SELECT_V2")
def convert_select(ctx: Context) -> relax.Expr:
    """Take elements of the second operand where the first holds, else of the third."""
    condition, chosen, other = ctx.inputs()
    if condition.tensor.dtype != "bool" or chosen.tensor.dtype != other.tensor.dtype:
        dtypes = [operand.tensor.dtype for operand in (condition, chosen, other)]
        raise QnnError(f"must choose by bool from two tensors of one type, got {dtypes}")
    shapes = condition.shape, chosen.shape, other.shape, ctx.output().shape
    if all(prod(shape) == 1 for shape in shapes):
        # LiteRT lets the result of single elements be of the shape that the file says.
        result = R.where(condition.expr, chosen.expr, other.expr)
        return reshaped(ctx.builder.emit(result), ctx.output().shape)
    if ctx.operator.code == "SELECT_V2":
        return R.where(condition.expr, chosen.expr, other.expr)
    shape = chosen.shape
    if other.shape != shape:
        raise QnnError(f"the shapes {shape} and {other.shape} differ")
    if condition.shape == shape:
        return R.where(condition.expr, chosen.expr, other.expr)
    # A condition for each part along the first axis.
    if len(condition.shape) > 1 or not shape or condition.shape not in ((), shape[:1]):
        raise QnnError(f"a condition of shape {condition.shape} for shape {shape}")
    by_part = reshaped(condition.expr, (*condition.shape, *[1] * (len(shape) - 1)))
    return R.where(by_part, chosen.expr, other.expr)
