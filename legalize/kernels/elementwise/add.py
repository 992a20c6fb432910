"""Sums and differences of two tensors of bytes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tvm.script.ir_builder import tirx as T

from legalize.kernels.elementwise.affine import affine_form, stated_form
from legalize.kernels.ir.arithmetic import (
    divided_by_power,
    rescaled,
)
from legalize.kernels.ir.vectors import Vector, kept, lanes_in, splat
from legalize.kernels.isa.base import AffineForm, FloatForm, VectorIsa
from qnn_ops import quantized_subtract
from qnn_ops.arithmetic.onnxruntime import is_onnxruntime, moved_by, sum_terms
from qnn_ops.arithmetic.xnnpack import is_xnnpack
from qnn_ops.dialect.registry import Attrs, Operator, TensorSpec
from qnn_ops.quantized.elementwise import LARGEST_TERM, LEFT_SHIFT

# The largest number that round_half_even takes.
_LARGEST = 2.0**22
_MOST = 256


def float_form(attrs: Attrs, lhs: TensorSpec, rhs: TensorSpec) -> FloatForm | None:
    """Return the sum of ONNX Runtime; None if it leaves the range of ``round_half_even``."""
    terms = sum_terms(attrs, (lhs.dtype, rhs.dtype), (lhs.shape, rhs.shape))
    outer, inner, addend = (float(each) for each in terms[1:])
    if not _MOST * (outer + inner) + abs(addend) < _LARGEST:
        return None
    dtypes = lhs.dtype, rhs.dtype, attrs.out_dtype
    moved = [moved_by(attrs.model_dtype, dtype) for dtype in dtypes]
    factors = (inner, outer) if terms.swaps else (outer, inner)
    return FloatForm(*factors, addend, terms.swaps, (moved[0], moved[1], moved[2]))


def sum_form(
    operator: Operator[Any], attrs: Attrs, lhs: TensorSpec, rhs: TensorSpec, *, fuses: bool
) -> AffineForm | FloatForm | None:
    """Return an exact form of a sum or a difference; None if there is none.

    Args:
        operator: ``quantized_add`` or ``quantized_subtract``.
        attrs: the call's attributes.
        lhs: the first operand.
        rhs: the second operand.
        fuses: whether kernels compute forms of floats, which need fused multiply-adds.
    """
    dtypes, sign = (lhs.dtype, rhs.dtype), -1 if operator is quantized_subtract else 1
    if is_xnnpack(attrs):
        return stated_form(attrs, dtypes, sign)
    if is_onnxruntime(attrs):
        form = float_form(attrs, lhs, rhs)
        if form is None or fuses:
            return form
        if form.lhs_first:
            return None
    return affine_form(operator, attrs, dtypes, sign)


@dataclass(frozen=True)
class Terms:
    """A sum as the reference computes it, for scales that have no affine form.

    Attributes:
        sign: the sign of rhs: 1 or -1.
        zero_points: zero points of lhs, rhs and the output, as steps from their lowest values.
        multipliers: multipliers of lhs, rhs and the sum, each with its shift.
        is_bounded: whether the sum is kept to ``LARGEST_TERM``.
    """

    sign: int
    zero_points: tuple[int, int, int]
    multipliers: tuple[tuple[int, int], tuple[int, int], tuple[int, int]]
    is_bounded: bool

    def quarters(self, isa: VectorIsa, lhs: Vector, rhs: Vector) -> list[Vector]:
        """Return the sums of two vectors of bytes: see ``pairs.Form``."""
        pairs = zip(isa.widen_all(lhs), isa.widen_all(rhs), strict=True)
        return [self._sum(*pair) for pair in pairs]

    def _sum(self, lhs: Vector, rhs: Vector) -> Vector:
        lanes = lanes_in(lhs)
        left, right = (
            _term(kept(value - splat("int32", zero_point, lanes)), *multiplier)
            for value, zero_point, multiplier in zip(
                (lhs, rhs), self.zero_points, self.multipliers, strict=False
            )
        )
        total = kept(left + right if self.sign > 0 else left - right)
        if self.is_bounded:
            limit = splat("int32", LARGEST_TERM, lanes)
            total = kept(T.max(T.min(total, limit), -limit))
        return rescaled(total, *self.multipliers[2]) + splat("int32", self.zero_points[2], lanes)


def _term(x: Vector, multiplier: int, shift: int) -> Vector:
    """Return a number of 9 bits after a left shift and a rescaling, in 32 bits."""
    lanes = lanes_in(x)
    left_over = 31 - LEFT_SHIFT
    upper, lower = divmod(multiplier, 1 << left_over)
    half = splat("int32", 1 << (left_over - 1), lanes)
    low = x * splat("int32", lower, lanes) + half
    high = T.shift_right(low, splat("int32", left_over, lanes))
    return divided_by_power(kept(x * splat("int32", upper, lanes) + high), -shift)
