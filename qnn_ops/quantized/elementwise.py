"""The family of quantized operators on two tensors, which broadcast."""

from inspect import cleandoc
from typing import Annotated

import numpy as np
from tvm import relax

from qnn_ops.arithmetic.fixed_point import float32_quotient, quantize_multiplier, scaled_twice
from qnn_ops.arithmetic.onnxruntime import ONNXRUNTIME
from qnn_ops.arithmetic.rounding import scale_result
from qnn_ops.arrays import Array
from qnn_ops.dialect import declared
from qnn_ops.dialect.attributes import QUANTIZED
from qnn_ops.dialect.checks import check_bounds, check_tensors
from qnn_ops.dialect.registry import Attrs, Known, Operator, Reference, TensorSpec
from qnn_ops.dialect.sizes import broadcast
from qnn_ops.dialect.traits import OF_BOTH, Channels, rescaling
from qnn_ops.errors import QnnError

LEFT_SHIFT = 20
"""The left shift of a sum's operands before they are scaled. 8 bits and a sign fit then."""

_LEFT_SHIFT_INT16 = 15

LARGEST_TERM = 2**16 - 1
"""Larger terms saturate any result whose multiplier is at least 1."""


def _elementwise(
    lhs: relax.Expr,
    rhs: relax.Expr,
    lhs_scale: declared.LhsScale,
    lhs_zero_point: declared.LhsZeroPoint,
    rhs_scale: declared.RhsScale,
    rhs_zero_point: declared.RhsZeroPoint,
    output_scale: declared.OutputScale,
    output_zero_point: declared.OutputZeroPoint,
    out_dtype: declared.Text,
    out_min: declared.OutMin = None,
    out_max: declared.OutMax = None,
    *,
    arithmetic: declared.Arithmetic = "tflite",
    model_dtype: Annotated[
        str | None,
        declared.choice(
            *QUANTIZED,
            default=lambda given: given["out_dtype"],
            needed=lambda given: given["arithmetic"] == ONNXRUNTIME,
        ),
    ] = None,
) -> None:
    """Compute a result from two values.

    Args:
        lhs: int8, uint8 or int16, any shape. Either all operands and the result are int16, or none;
            int16 takes zero points of 0 only.
        rhs: int8, uint8 or int16, a shape that broadcasts with that of ``lhs`` as in numpy.
        out_dtype: int8, uint8 or int16.
        arithmetic: "tflite"; for 8 bits also "xnnpack", and for sums and products "onnxruntime".
        model_dtype: for arithmetic "onnxruntime", the dtype of the model's tensors, int8 or uint8;
            float32 sums depend on its zero points. Default: ``out_dtype``.

    Returns:
        A call whose result has the broadcast shape and ``out_dtype``.
    """


class ElementwiseOperator(Operator[...]):
    """An operator on two tensors. It decorates its reference, which is all that differs."""

    def __init__(self, reference: Reference, **others: Reference) -> None:
        """Register the operator; its documentation begins with the reference's own.

        Args:
            reference: computes the operator.
            others: compute it in other arithmetics, by their names.
        """
        traits = rescaling(OF_BOTH, Channels.ANYWHERE, clamps=True)
        super().__init__(_elementwise, traits, reference.__name__)
        _, arguments = (self.__doc__ or "").split("\n\n", 1)
        self.__doc__ = f"{cleandoc(reference.__doc__ or '')}\n\n{arguments}"
        self.type_rule(elementwise_type)
        self.reference(reference)
        for arithmetic, other in others.items():
            self.computed_by(arithmetic, other)


def elementwise_type(attrs: Attrs, lhs: TensorSpec, rhs: TensorSpec) -> TensorSpec:
    """Check dtypes, quantization and shapes of a call, and return its result's shape and dtype."""
    check_tensors(attrs, lhs=lhs, rhs=rhs)
    check_bounds(attrs.out_dtype, attrs.out_min, attrs.out_max)
    try:
        shape = broadcast(lhs.shape, rhs.shape)
    except ValueError:
        raise QnnError(
            f"lhs and rhs must broadcast to one shape, got {lhs.shape} and {rhs.shape}"
        ) from None
    return TensorSpec(shape, attrs.out_dtype)


def left_shift(attrs: Attrs) -> int:
    """Return the left shift of a sum's operands: int32 has room for it, and for a sign."""
    return _LEFT_SHIFT_INT16 if attrs.out_dtype == "int16" else LEFT_SHIFT


def sum_multipliers(attrs: Attrs) -> tuple[float, float, float]:
    """Return a sum's real multipliers: of lhs and rhs to their common scale, and of the result.

    The common scale is 2^-20 (for int16: 2^-15) of twice the larger operand's, so the sum cannot
    overflow.
    """
    twice_larger = 2.0 * max(attrs.lhs_scale, attrs.rhs_scale)
    result = twice_larger / (2.0 ** left_shift(attrs) * attrs.output_scale)
    return (
        attrs.lhs_scale / twice_larger,
        attrs.rhs_scale / twice_larger,
        saturating(result, attrs.out_dtype),
    )


def product_multiplier(attrs: Attrs) -> float:
    """Compute a product's multiplier, rounded to float32 after each of two steps as TFLite's.

    x86 processors shift 32 bits by the last five bits of a count. TFLite does not check the count,
    so a multiplier of 2^40 acts as 2^8.
    """
    multiplier = float32_quotient((attrs.lhs_scale, attrs.rhs_scale), attrs.output_scale)
    if not np.isfinite(multiplier):
        return multiplier
    shift = int(quantize_multiplier(multiplier)[1])
    return float(np.ldexp(multiplier, shift % 32 - shift)) if shift > 31 else multiplier


def sum_reference(attrs: Attrs, lhs: Array, rhs: Array, sign: int) -> Array:
    """Compute lhs + sign * rhs."""
    lhs_multiplier, rhs_multiplier, result_multiplier = sum_multipliers(attrs)
    shift = left_shift(attrs)
    left = on_common_scale(lhs, attrs.lhs_zero_point, lhs_multiplier, shift)
    right = on_common_scale(rhs, attrs.rhs_zero_point, rhs_multiplier, shift)
    total = left + right if sign > 0 else left - right
    if result_multiplier >= 1:
        total = np.clip(total, -LARGEST_TERM, LARGEST_TERM)
    return scale_result(attrs, total, result_multiplier, "tflite")


def sum_overflow(attrs: Attrs, _known: Known, _lhs: TensorSpec, _rhs: TensorSpec) -> None:
    """Raise if TFLite does not define a sum or a difference of these scales."""
    # The operands on the common scale are at most 2^28.
    *_, result = sum_multipliers(attrs)
    shift = left_shift(attrs)
    larger = max(attrs.lhs_scale, attrs.rhs_scale)
    if quantize_multiplier(result)[1] > 0:
        raise QnnError(
            f"output_scale {attrs.output_scale:.4g} is too small: TFLite defines sums of operands "
            f"of scale {larger:.4g} down to {larger / 2 ** (shift - 1):.4g}"
        )
    highest = float(np.finfo(np.float32).max) / 2**shift
    if attrs.output_scale > highest:
        raise QnnError(
            f"output_scale {attrs.output_scale:.4g} is too large: TFLite defines sums up to "
            f"{highest:.4g}"
        )


def on_common_scale(data: Array, zero_point: int, multiplier: float, shift: int) -> Array:
    """Return an operand in steps of both operands' scale, in int32."""
    lifted = (data.astype(np.int32) - zero_point) << shift
    return scaled_twice(lifted, *quantize_multiplier(multiplier)).astype(np.int32)


def saturating(multiplier: float, out_dtype: str = "int8") -> float:
    """Return a multiplier that gives the same results without overflowing int32.

    For 8 bits every term but 0 saturates from 2^9 on, and a term of 16 bits does not overflow up to
    2^14. Beyond that the frameworks' own code is undefined. int16 would need more bits than int32
    has: its results wrap.
    """
    return min(multiplier, 2.0**30 if out_dtype == "int16" else 2.0**14)
