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
from qnn_ops.registry import Attrs, spec_of

Array = np.ndarray[Any, Any]

_LARGEST_PRODUCT = 255 * 255


def centred(value: relax.Expr, zero_point: Any) -> relax.Expr:
    """Subtract the zero point of data or weights, int16; that of int16 data is 0."""
    if spec_of(value).dtype == "int16":
        return value
    # 16 bits hold any difference of two 8-bit values, and multiply twice as fast as 32.
    return R.subtract(R.astype(value, "int16"), const(zero_point, "int16"))


def sum_dtype(depth: int, data_dtype: str) -> str:
    """Return the dtype in which so many products of centred values are summed, to wrap as int32.

    TVM lets LLVM assume that signed integers never overflow. Sums of int16 data may be wide.
    """
    fits = depth * _LARGEST_PRODUCT <= dtype_range("int32")[1]
    return "int32" if fits and data_dtype != "int16" else "int64"


def wrapped(sums: relax.Expr, dtype: str, *, wide: bool = False) -> relax.Expr:
    """Return sums of a dtype as the int32 that they are modulo 2^32, unless they are wide."""
    return sums if dtype == "int32" or wide else R.astype(sums, "int32")


def with_bias(accumulator: relax.Expr, bias: relax.Expr, *, wide: bool = False) -> relax.Expr:
    """Add the bias modulo 2^32, to wide sums as it is."""
    # Not in uint32: TVM takes the int32 that is made of one for a number that is not negative.
    total = R.add(R.astype(accumulator, "int64"), R.astype(bias, "int64"))
    return total if wide else R.astype(total, "int32")


def result_of_sums(
    builder: relax.BlockBuilder,
    attrs: Attrs,
    accumulator: relax.Expr,
    bias: relax.Expr | None,
    multiplier: Array | float,
    addend: relax.Expr | None = None,
    *,
    wide: bool = False,
) -> relax.Expr:
    """Turn sums into an operator's result; the counterpart of qnn_ops.sums.

    Args:
        builder: of the function.
        attrs: of the call.
        accumulator: int32 expression, without the bias; int64 if ``wide``.
        bias: int32 or int64 expression that broadcasts with it.
        multiplier: how many steps of the result a step of the sum is, broadcasting likewise; not
            used for int32 results, which are the sums.
        addend: for rounding "onednn", shaped as the sums.
        wide: whether the sums are 64 bits wide.
    """
    if attrs.rounding == ONEDNN:
        return float_epilogue(builder, attrs, accumulator, bias, multiplier, addend)
    if bias is not None:
        accumulator = with_bias(accumulator, bias, wide=wide)
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
