"""Comparisons, and operators that use them: SELECT, BUCKETIZE, ARG_MAX, ARG_MIN and TOPK_V2."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from tvm import relax
from tvm.relax import op as R

from frontends.errors import UnsupportedError
from frontends.ranges import index_of
from frontends.tflite.converters.context import Context, Operand, reshaped
from frontends.tflite.converters.functions.arithmetic import applied
from frontends.tflite.converters.scales import EIGHT_BITS, ENCODED
from frontends.tflite.model import Tensor
from frontends.tflite.operators import MOVED, OPERATORS, Row, Rule, converter, row_of
from qnn_ops import top_indices
from qnn_ops.dialect.attributes import dtype_range
from qnn_ops.dialect.checks import check_axis
from qnn_ops.errors import QnnError
from qnn_ops.unquantized.comparisons import comparison_table, unequal
from qnn_ops.unquantized.indices import INDEX_DTYPES


@dataclass(frozen=True)
class _Comparison:
    """Compares numbers: their integers, or their real values.

    Attributes:
        function: of Relax.
        refused: the types that LiteRT does not compare correctly.
        by_scale: the types that it compares by real value.
    """

    function: Callable[..., relax.Expr]
    refused: Sequence[str] = ("bool",)
    by_scale: Sequence[str] = EIGHT_BITS

    def __call__(self, ctx: Context) -> relax.Expr:
        """Compare two tensors of one type."""
        lhs, rhs = ctx.inputs(2)
        dtype = lhs.dtype
        if rhs.dtype != dtype:
            raise QnnError(f"cannot compare {dtype} with {rhs.dtype}")
        if dtype in self.refused:
            raise UnsupportedError(f"of {dtype}")
        return self.function(*(ctx.emit(self._compared(ctx, each)) for each in (lhs, rhs)))

    def _compared(self, ctx: Context, operand: Operand) -> relax.Expr:
        dtype = operand.dtype
        if dtype == "bool":  # TVM compares this type as if it were float
            return R.astype(operand.expr, "int8")
        is_scaled = dtype in self.by_scale and operand.tensor.quantization is not None
        if dtype not in EIGHT_BITS and not is_scaled:
            return operand.expr
        table = comparison_table(*operand.quantization, dtype)
        index = ctx.builder.array(operand.expr).astype("int32") - dtype_range(dtype)[0]
        values = ctx.values.add_constant(operand.tensor, "_table", table)
        return R.take(values, index.expr, 0, "clip")


def compared_by_scale(code: str, tensor: Tensor) -> bool:
    """Tell whether an operator compares a tensor by real value."""
    rule = row_of(code).data
    is_compared = isinstance(rule, _Comparison) and tensor.dtype in rule.by_scale
    return is_compared and tensor.quantization is not None


@converter("SELECT_V2", micro=MOVED)
def convert_select_v2(ctx: Context) -> relax.Expr:
    """Return elements of the second operand where the first is true, otherwise of the third."""
    condition, chosen, other = ctx.inputs(3)
    if condition.dtype != "bool" or chosen.dtype != other.dtype:
        dtypes = [operand.dtype for operand in (condition, chosen, other)]
        raise QnnError(f"must choose by bool from two tensors of one type, got {dtypes}")
    result = R.where(condition.expr, chosen.expr, other.expr)
    if _are_single(ctx):
        # LiteRT gives a result of single elements the shape in the file.
        return reshaped(ctx.emit(result), ctx.output().shape)
    return result


@converter("SELECT")
def convert_select(ctx: Context) -> relax.Expr:
    """Return elements like SELECT_V2; there may be one condition per part of the first axis."""
    chosen = convert_select_v2(ctx)
    if _are_single(ctx):
        return chosen
    condition, given, other = ctx.inputs(3)
    shape = given.shape
    if other.shape != shape:
        raise QnnError(f"the shapes {shape} and {other.shape} differ")
    if condition.shape == shape:
        return chosen
    if len(condition.shape) > 1 or not shape or condition.shape not in ((), shape[:1]):
        raise QnnError(f"a condition of shape {condition.shape} for shape {shape}")
    by_part = reshaped(condition.expr, (*condition.shape, *[1] * (len(shape) - 1)))
    return R.where(by_part, given.expr, other.expr)


def _are_single(ctx: Context) -> bool:
    shapes = [*(each.shape for each in ctx.inputs()), ctx.output().shape]
    return all(prod(shape) == 1 for shape in shapes)


@converter("BUCKETIZE", dtypes=("int32", "int64", "float32"))
def convert_bucketize(ctx: Context) -> Any:
    """Count the boundaries at or below each number; compare in float32."""
    data, boundaries = ctx.input(0), ctx.options.boundaries
    if not np.all(boundaries[:-1] <= boundaries[1:]):
        raise QnnError(f"the boundaries must be sorted, got {boundaries.tolist()}")
    if boundaries.size == 0:
        return R.zeros(data.shape, "int32")
    is_below = np.expand_dims(ctx.array(0).astype("float32"), -1) < boundaries
    return np.int32(boundaries.size) - is_below.sum(-1, np.int32)


def _arg(function: Callable[..., relax.Expr]) -> Rule:
    """Return the rule for the index of the first of the largest (smallest) elements of an axis."""

    def convert(ctx: Context) -> relax.Expr:
        data = ctx.input(0)
        # The tensor's type in the file does not matter.
        dtype = ctx.options.output_type
        if dtype not in ("int32", "int64"):
            raise UnsupportedError(f"a result of type {dtype}")
        axis = check_axis(ctx.integer(1, ("int32", "int64")), len(data.shape))
        if data.shape[axis] == 0:
            raise QnnError(f"axis {axis} of {data.label} has no elements")
        index = index_of(function, data.expr, axis)
        return index if dtype == "int64" else R.astype(index, dtype)

    return convert


@converter("TOPK_V2")
def convert_top_k(ctx: Context) -> list[relax.Expr]:
    """Return each row's largest elements and their indices; equal elements keep their order."""
    data, count = ctx.input(0), ctx.integer(1)
    dtype = data.dtype
    if not data.shape or not 0 <= count <= data.shape[-1]:
        raise QnnError(f"{count} elements of rows of shape {data.shape}")
    if ctx.output(1).dtype != "int32" or dtype not in INDEX_DTYPES:
        raise UnsupportedError(f"{ctx.output(1).dtype} indices of {dtype} elements")
    *outer, size = data.shape
    if 0 in data.shape or count == 0:
        return [R.zeros([*outer, count], each) for each in (dtype, "int32")]
    rows = reshaped(data.expr, (prod(outer), size))
    indices = ctx.emit(top_indices(rows, count))
    values = R.gather_elements(rows, indices, axis=1)
    return [reshaped(result, (*outer, count)) for result in (values, indices)]


OPERATORS.update(
    {
        "ARG_MAX": Row(data=_arg(R.argmax), micro=MOVED, states_dtype=True),
        "ARG_MIN": Row(data=_arg(R.argmin), micro=MOVED, states_dtype=True),
        "EQUAL": Row(data=_Comparison(R.equal, (), ENCODED), micro=MOVED),
        # LiteRT's kernel reads int16 as another type.
        "NOT_EQUAL": Row(data=_Comparison(unequal, ("int16",)), micro=MOVED),
        "GREATER": Row(data=_Comparison(R.greater), micro=MOVED),
        "GREATER_EQUAL": Row(data=_Comparison(R.greater_equal), micro=MOVED),
        "LESS": Row(data=_Comparison(R.less), micro=MOVED),
        "LESS_EQUAL": Row(data=_Comparison(R.less_equal), micro=MOVED),
        "LOGICAL_AND": Row(data=applied(R.logical_and, "bool"), micro=MOVED, combines="all"),
        "LOGICAL_NOT": Row(data=applied(R.logical_not, "bool", count=1), micro=MOVED),
        "LOGICAL_OR": Row(data=applied(R.logical_or, "bool"), micro=MOVED, combines="any"),
    }
)
