"""Comparisons, and what chooses by them: SELECT, BUCKETIZE, ARG_MAX, ARG_MIN and TOPK_V2."""

from __future__ import annotations

from collections.abc import Callable
from math import prod

import numpy as np
from tvm import relax
from tvm.relax import op as R

from frontends.errors import UnsupportedError
from frontends.extremes import index_of
from frontends.tflite.axes import axis_of
from frontends.tflite.converters.context import Context, Operand, reshaped
from frontends.tflite.converters.registry import data_converter
from frontends.tflite.model import Tensor
from frontends.tflite.options import ArgMaxOptions, ArgMinOptions, BucketizeOptions
from qnn_ops import top_indices
from qnn_ops.attributes import dtype_range
from qnn_ops.comparisons import comparison_table, unequal
from qnn_ops.errors import QnnError
from qnn_ops.indices import INDEX_DTYPES

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


@data_converter("BUCKETIZE")
def convert_bucketize(ctx: Context) -> relax.Expr:
    """Count the boundaries that a number is not below; it is compared in float32."""
    data, boundaries = ctx.input(0), ctx.options(BucketizeOptions).boundaries
    if data.tensor.dtype not in ("int32", "int64", "float32"):
        raise UnsupportedError(f"of {data.tensor.dtype}")
    if not np.all(boundaries[:-1] <= boundaries[1:]):
        raise QnnError(f"the boundaries must be sorted, got {boundaries.tolist()}")
    if 0 in data.shape or boundaries.size == 0:
        return R.zeros(data.shape, "int32")
    values = ctx.builder.emit(R.expand_dims(R.astype(data.expr, "float32"), -1))
    is_below = R.astype(R.less(values, relax.const(boundaries)), "int32")
    count = relax.const(np.int32(boundaries.size))
    return R.subtract(count, R.sum(ctx.builder.emit(is_below), [-1]))


_OPTIONS: dict[str, type[ArgMaxOptions] | type[ArgMinOptions]] = {
    "ARG_MAX": ArgMaxOptions,
    "ARG_MIN": ArgMinOptions,
}
_FUNCTIONS = {"ARG_MAX": R.argmax, "ARG_MIN": R.argmin}


@data_converter(*_FUNCTIONS)
def convert_arg_max(ctx: Context) -> relax.Expr:
    """Return the index of the first of the largest (smallest) elements along an axis."""
    data = ctx.input(0)
    # Whatever the file says of the tensor.
    dtype = ctx.options(_OPTIONS[ctx.operator.code]).output_type
    if dtype not in ("int32", "int64"):
        raise UnsupportedError(f"a result of type {dtype}")
    axis = axis_of(ctx.integer(1, ("int32", "int64")), len(data.shape))
    if data.shape[axis] == 0:
        raise QnnError(f"axis {axis} of {data.tensor.label} has no elements")
    if 0 in data.shape:
        return R.zeros([*data.shape[:axis], *data.shape[axis + 1 :]], dtype)
    index = index_of(_FUNCTIONS[ctx.operator.code], data.expr, axis)
    return index if dtype == "int64" else R.astype(index, dtype)


@data_converter("TOPK_V2")
def convert_top_k(ctx: Context) -> list[relax.Expr]:
    """Give the largest elements of each row and their indices; of equal ones the first."""
    data, count = ctx.input(0), ctx.integer(1)
    dtype = data.tensor.dtype
    if not data.shape or not 0 <= count <= data.shape[-1]:
        raise QnnError(f"{count} elements of rows of shape {data.shape}")
    if ctx.output(1).dtype != "int32" or dtype not in INDEX_DTYPES:
        raise UnsupportedError(f"{ctx.output(1).dtype} indices of {dtype} elements")
    *outer, size = data.shape
    if 0 in data.shape or count == 0:
        return [R.zeros([*outer, count], each) for each in (dtype, "int32")]
    rows = reshaped(data.expr, (prod(outer), size))
    indices = ctx.builder.emit(top_indices(rows, count))
    values = R.gather_elements(rows, indices, axis=1)
    return [reshaped(result, (*outer, count)) for result in (values, indices)]
