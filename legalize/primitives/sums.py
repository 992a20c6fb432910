"""Sums of products as Relax operators: what is multiplied, and what becomes of the sums."""

from __future__ import annotations

from typing import Any

import numpy as np
from tvm import relax
from tvm.relax import op as R

from legalize.primitives.fixed_point import const, saturate, scale_down
from legalize.primitives.float_epilogue import float_epilogue
from qnn_ops.attributes import dtype_range
from qnn_ops.float_epilogue import ONEDNN
from qnn_ops.registry import Attrs

Array = np.ndarray[Any, Any]

_LARGEST_PRODUCT = 255 * 255


def centred(value: relax.Expr, zero_point: Any) -> relax.Expr:
    """Subtract the zero point of data or weights, int16."""
    # 16 bits hold any difference of two 8-bit values, and multiply twice as fast as 32.
    return R.subtract(R.astype(value, "int16"), const(zero_point, "int16"))


def sum_dtype(depth: int) -> str:
    """Return the dtype in which so many products of centred values are summed, to wrap as int32.

    TVM lets LLVM assume that signed integers never overflow.
    """
    return "int32" if depth * _LARGEST_PRODUCT <= dtype_range("int32")[1] else "int64"


def wrapped(sums: relax.Expr, dtype: str) -> relax.Expr:
    """Return sums of a dtype as the int32 that they are modulo 2^32."""
    return sums if dtype == "int32" else R.astype(sums, "int32")


def with_bias(accumulator: relax.Expr, bias: relax.Expr) -> relax.Expr:
    """Add the bias modulo 2^32."""
    # Not in uint32: TVM takes the int32 that is made of one for a number that is not negative.
    total = R.add(R.astype(accumulator, "int64"), R.astype(bias, "int64"))
    return R.astype(total, "int32")


def result_of_sums(
    builder: relax.BlockBuilder,
    attrs: Attrs,
    accumulator: relax.Expr,
    bias: relax.Expr | None,
    multiplier: Array | float,
    addend: relax.Expr | None = None,
) -> relax.Expr:
    """Turn int32 sums into an operator's result; the counterpart of qnn_ops.sums.

    Args:
        builder: of the function.
        attrs: of the call.
        accumulator: int32 expression, without the bias.
        bias: int32 expression that broadcasts with it.
        multiplier: how many steps of the result a step of the sum is, broadcasting likewise; not
            used for int32 results, which are the sums.
        addend: for rounding "onednn", shaped as the sums.
    """
    if attrs.rounding == ONEDNN:
        return float_epilogue(builder, attrs, accumulator, bias, multiplier, addend)
    if bias is not None:
        accumulator = with_bias(accumulator, bias)
    bounds = (attrs.out_min, attrs.out_max)
    if attrs.out_dtype == "int32":
        return saturate(R.astype(accumulator, "int64"), bounds, "int32")
    return scale_down(
        builder,
        accumulator,
        multiplier,
        attrs.rounding,
        attrs.output_zero_point,
        bounds,
        attrs.out_dtype,
    )
