"""Which elementwise calls of the dialect the x86 kernels serve."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from tvm import relax

from legalize.kernels.calls import call_kernel
from legalize.kernels.registry import kernel
from legalize.kernels.x86.add import BYTES, add
from legalize.kernels.x86.affine import affine_form
from qnn_ops import quantized_add, quantized_subtract
from qnn_ops.registry import Attrs, Operator, spec_of

_FEATURES = ("avx512vnni", "avx512bw")


@kernel(quantized_add, *_FEATURES)
def _add(
    builder: relax.BlockBuilder, attrs: Attrs, operands: Sequence[relax.Expr]
) -> relax.Expr | None:
    return _sum(builder, quantized_add, attrs, operands, 1)


@kernel(quantized_subtract, *_FEATURES)
def _subtract(
    builder: relax.BlockBuilder, attrs: Attrs, operands: Sequence[relax.Expr]
) -> relax.Expr | None:
    return _sum(builder, quantized_subtract, attrs, operands, -1)


def _sum(
    builder: relax.BlockBuilder,
    operator: Operator[Any],
    attrs: Attrs,
    operands: Sequence[relax.Expr],
    sign: int,
) -> relax.Expr | None:
    lhs, rhs = (spec_of(operand) for operand in operands)
    if lhs.shape != rhs.shape or prod(lhs.shape) < BYTES:
        return None
    form = affine_form(operator, attrs, (lhs.dtype, rhs.dtype), sign)
    if form is None:
        return None
    dtypes = lhs.dtype, rhs.dtype, attrs.out_dtype
    function = add(lhs.shape, form, dtypes, (attrs.out_min, attrs.out_max))
    return call_kernel(builder, "add", function, list(operands), lhs.shape, attrs.out_dtype)
