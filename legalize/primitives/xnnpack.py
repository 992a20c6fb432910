"""XNNPACK's arithmetic in Relax primitives; the counterpart of qnn_ops.xnnpack."""

from __future__ import annotations

from tvm import relax
from tvm.relax import op as R

from legalize.primitives.elementwise import centred
from legalize.primitives.fixed_point import const
from qnn_ops.attributes import dtype_range
from qnn_ops.registry import Attrs
from qnn_ops.rounded import rounded
from qnn_ops.xnnpack import mean_terms, sum_terms


def mean_xnnpack(
    builder: relax.BlockBuilder, attrs: Attrs, dtype: str, sums: relax.Expr, count: int
) -> relax.Expr:
    """Lower what becomes of int32 sums of ``count`` values of ``dtype``."""
    terms = mean_terms(attrs, dtype, count)
    own = R.astype(R.subtract(sums, const(terms.taken, "int32")), "float32")
    scaled = rounded(builder.emit(R.multiply(own, const(terms.factor, "float32"))))
    steps = R.round(R.add(scaled, const(terms.constant, "float32")))
    bounded = R.astype(R.clip(steps, *dtype_range("int8")), "int32")
    return R.astype(R.add(bounded, const(terms.given, "int32")), attrs.out_dtype)


def sum_xnnpack(attrs: Attrs, lhs: relax.Expr, rhs: relax.Expr, sign: int = 1) -> relax.Expr:
    """Lower a sum of two tensors, or with the sign -1 their difference.

    int32 has room for it, and for what it is rounded with.
    """
    first, second, shift = sum_terms(attrs, sign)
    left = R.multiply(centred(lhs, attrs.lhs_zero_point), const(first, "int32"))
    right = R.multiply(centred(rhs, attrs.rhs_zero_point), const(second, "int32"))
    total = R.add(R.add(left, right), const(1 << (shift - 1), "int32"))
    shifted = R.right_shift(total, const(shift, "int32"))
    steps = R.add(shifted, const(attrs.output_zero_point, "int32"))
    low, high = const(attrs.out_min, "int32"), const(attrs.out_max, "int32")
    return R.astype(R.minimum(R.maximum(steps, low), high), attrs.out_dtype)
