"""Sums of two bytes in float32, as ONNX Runtime computes them: two fused multiply-adds."""

from __future__ import annotations

from dataclasses import dataclass, replace

from legalize.kernels.ir.floats import fused_multiply_add
from legalize.kernels.ir.registers import lanes_in
from legalize.kernels.ir.types import Vector
from legalize.kernels.ir.vectors import splat
from qnn_ops.onnxruntime import moved_by, sum_terms
from qnn_ops.registry import Attrs, TensorSpec

# What round_half_even takes.
_LARGEST = 2.0**22
_MOST = 256


@dataclass(frozen=True)
class FloatForm:
    """lhs·l + rhs·r + addend, before it is rounded to a whole number and clamped.

    Operands and result are values of the model's own dtype. One product is added to the addend,
    and the other one to that sum; both sums are rounded once.

    Attributes:
        lhs: l, a float32.
        rhs: r, a float32.
        addend: a float32.
        lhs_first: whether the product of lhs is added to the addend.
        moved: what lhs, rhs and the result are more than values of the model.
    """

    lhs: float
    rhs: float
    addend: float
    lhs_first: bool
    moved: tuple[int, int, int]

    @property
    def swapped(self) -> FloatForm:
        """The same sum, of rhs and lhs."""
        lhs, rhs, result = self.moved
        return replace(
            self,
            lhs=self.rhs,
            rhs=self.lhs,
            lhs_first=not self.lhs_first,
            moved=(rhs, lhs, result),
        )

    def emit(self, lhs: Vector, rhs: Vector) -> Vector:
        """Build the expression of the sums of two vectors of float32."""
        lanes = lanes_in(lhs)
        terms = [(lhs, self.lhs), (rhs, self.rhs)]
        (first, factor), (last, other) = terms if self.lhs_first else reversed(terms)
        addend = splat("float32", self.addend, lanes)
        inner = fused_multiply_add(first, splat("float32", factor, lanes), addend)
        return fused_multiply_add(last, splat("float32", other, lanes), inner)


def float_form(attrs: Attrs, lhs: TensorSpec, rhs: TensorSpec) -> FloatForm | None:
    """Return a sum of ONNX Runtime's; None where it leaves the range that is rounded."""
    terms = sum_terms(attrs, (lhs.dtype, rhs.dtype), (lhs.shape, rhs.shape))
    outer, inner, addend = (float(each) for each in terms[1:])
    if not _MOST * (outer + inner) + abs(addend) < _LARGEST:
        return None
    dtypes = lhs.dtype, rhs.dtype, attrs.out_dtype
    moved = [moved_by(attrs.model_dtype, dtype) for dtype in dtypes]
    factors = (inner, outer) if terms.swaps else (outer, inner)
    return FloatForm(*factors, addend, terms.swaps, (moved[0], moved[1], moved[2]))
