"""The common part of convolutions and dense layers that give sums of 32 bits."""

from __future__ import annotations

from math import prod

import numpy as np
from tvm import relax
from tvm.relax import op as R

from frontends.mxnet.converters.context import Context
from frontends.mxnet.converters.quantization import Range
from frontends.mxnet.scalars import INT32_LEVELS, divide, multiply, narrow_levels, negative
from frontends.mxnet.values import Array
from qnn_ops.attributes import dtype_range
from qnn_ops.errors import QnnError


def product_range(data_dtype: str, first: Range, second: Range) -> Range:
    """Return the real values that -2^31 and 2^31 mean in sums of products of int8 and 8-bit data.

    Source: QuantizationRangeForMultiplication of MXNet's quantization_utils.h. It takes the second
    operand for the one that may be uint8, which convolutions give it, and dense layers do not: the
    numbers are the same but for the last bit.

    Args:
        data_dtype: of the data.
        first: range of an operand.
        second: range of the other one.
    """
    step = divide(first.magnitude, narrow_levels("int8"))
    other = divide(second.magnitude, narrow_levels(data_dtype))
    high = multiply(multiply(step, other), INT32_LEVELS)
    return Range(negative(high), high)


def int32_parameter(ctx: Context, bias: Array | None) -> relax.Var | None:
    """Return a bias of whole numbers as an int32 parameter; None if there is none."""
    if bias is None:
        return None
    low, high = dtype_range("int32")
    return ctx.parameter(np.clip(bias.astype(np.float64), low, high).astype(np.int32), "_bias")


def saturated_int32(value: relax.Expr) -> relax.Expr:
    """Return a float32 expression as int32, rounded half to even."""
    # float32 has no 2^31 - 1, so that end comes after the cast, which must be defined.
    whole = R.astype(R.clip(R.round(value), -(2.0**31), 2.0**31), "int64")
    return R.astype(R.minimum(whole, relax.const(2**31 - 1, "int64")), "int32")


def rows_of(ctx: Context, depth: int, *, flatten: bool) -> relax.Expr:
    """Return the data of a dense layer as rows of ``depth`` values.

    Args:
        ctx: the operator, whose first input it is.
        depth: what the weight takes.
        flatten: whether all axes but the first make one row; otherwise the last one does.

    Raises:
        QnnError: the rows have another length.
    """
    shape = ctx.shape(0)
    length = prod(shape[1:]) if flatten else shape[-1]
    if length != depth:
        raise QnnError(f"the data has rows of {length} values, the weight takes {depth}")
    if not flatten or len(shape) == 2:
        return ctx.expr(0)
    return ctx.emit(R.reshape(ctx.expr(0), (shape[0], depth)))
