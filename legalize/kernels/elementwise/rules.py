"""Rules for sums, differences, products and squared differences."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from legalize.kernels.call import call_written
from legalize.kernels.elementwise.add import Terms, sum_form
from legalize.kernels.elementwise.affine import zero_points
from legalize.kernels.elementwise.float_steps import float_steps, square_steps
from legalize.kernels.elementwise.multiply import Products, Rescaling, Rounding, Squares
from legalize.kernels.elementwise.pairs import Form, pairwise
from legalize.kernels.isa.base import FloatForm, VectorIsa
from legalize.kernels.kernel import Builder, Lowered, Operands
from qnn_ops import (
    quantized_add,
    quantized_multiply,
    quantized_squared_difference,
    quantized_subtract,
)
from qnn_ops.arithmetic.fixed_point import multiply_by_quantized_multiplier, quantize_multiplier
from qnn_ops.arithmetic.onnxruntime import moved_by, product_factor
from qnn_ops.arithmetic.xnnpack import is_xnnpack
from qnn_ops.dialect.attributes import LITERT, dtype_range
from qnn_ops.dialect.registry import Attrs, Operator, TensorSpec, spec_of
from qnn_ops.quantized.binary import SQUARE_SHIFT, square_multipliers
from qnn_ops.quantized.elementwise import product_multiplier, sum_multipliers

# The bound of a product that is shifted left: int32 holds it, and its sum with a zero point.
_LARGEST_LIFTED = 2**31 - 1 - 255


def _combine(
    builder: Builder,
    attrs: Attrs,
    operands: Operands,
    *,
    isa: VectorIsa,
    name: str,
    form_of: Callable[[Attrs, TensorSpec, TensorSpec, VectorIsa], Form | None],
    bytes_per_microsecond: int = 8_000,
) -> Lowered:
    """Lower a call whose arithmetic is ``form_of(attrs, lhs, rhs, isa)``; None if it has none."""
    lhs, rhs = (spec_of(operand) for operand in operands)
    shape = np.broadcast_shapes(lhs.shape, rhs.shape)
    if 0 in shape or not shape:
        return None
    form = form_of(attrs, lhs, rhs, isa)
    if form is None:
        return None
    dtypes, shapes = (lhs.dtype, rhs.dtype, attrs.out_dtype), (lhs.shape, rhs.shape)
    function = pairwise(isa, name, shapes, form, dtypes, _bounds(attrs), bytes_per_microsecond)
    return call_written(builder, function, operands)


def _sum(
    attrs: Attrs, lhs: TensorSpec, rhs: TensorSpec, isa: VectorIsa, *, operator: Operator[Any]
) -> Form | None:
    exact = sum_form(operator, attrs, lhs, rhs, fuses=isa.fuses_products)
    if isinstance(exact, FloatForm):
        return exact.of_steps((lhs.dtype, rhs.dtype, attrs.out_dtype))
    if exact is not None or attrs.arithmetic != LITERT:
        return exact
    reals, sign = sum_multipliers(attrs), -1 if operator is quantized_subtract else 1
    left, right, whole = map(_integer, reals)
    points = zero_points(attrs, (lhs.dtype, rhs.dtype))
    return Terms(sign, points, (left, right, whole), is_bounded=reals[2] >= 1)


def _integer(real: float) -> tuple[int, int]:
    """Return a multiplier with its shift."""
    multiplier, shift = quantize_multiplier(real)
    return int(multiplier), int(shift)


def _squares(attrs: Attrs, lhs: TensorSpec, rhs: TensorSpec, _isa: VectorIsa) -> Form:
    *points, zero_point = zero_points(attrs, (lhs.dtype, rhs.dtype))
    *reals, real = square_multipliers(attrs)
    # On their common scale, operands are at most half of 255, shifted.
    most = (255 << SQUARE_SHIFT) + 2
    exact = multiply_by_quantized_multiplier(np.arange(most) ** 2, *quantize_multiplier(real))
    outputs = np.clip(exact.astype(np.int64) + zero_point, *_bounds(attrs))
    rescaling = Rescaling(square_steps(outputs, real, _bounds(attrs)), *_integer(real), zero_point)
    left, right = map(_integer, reals)
    return Squares((points[0], points[1]), (left, right), rescaling)


def _products(attrs: Attrs, lhs: TensorSpec, rhs: TensorSpec, _isa: VectorIsa) -> Form | None:
    left, right, output = zero_points(attrs, (lhs.dtype, rhs.dtype))
    is_litert = attrs.arithmetic == LITERT
    rescaling = _rescaling(attrs, (left, right), output) if is_litert else _rounding(attrs)
    return None if rescaling is None else Products((left, right), rescaling)


def _rounding(attrs: Attrs) -> Rounding | None:
    """Return the rescaling of products in float32; None if they leave its range."""
    factor = float(product_factor(attrs))
    if not np.isfinite(factor):
        return None
    low, _ = dtype_range(attrs.out_dtype)
    if is_xnnpack(attrs):  # the zero point comes after the rounding
        return Rounding(factor, 0, low - attrs.output_zero_point)
    moved = moved_by(attrs.model_dtype, attrs.out_dtype)
    return Rounding(factor, attrs.output_zero_point - moved, low - moved)


def _rescaling(attrs: Attrs, points: tuple[int, int], zero_point: int) -> Rescaling | None:
    """Return the rescaling of products; None if it leaves int32 and wraps."""
    real = product_multiplier(attrs)
    multiplier, shift = _integer(real)
    ends = [(-zero, 255 - zero) for zero in points]
    corners = [left * right for left in ends[0] for right in ends[1]]
    products = np.arange(min(corners), max(corners) + 1)
    if max(map(abs, corners)) << max(shift, 0) > _LARGEST_LIFTED:
        return None
    scaled = multiply_by_quantized_multiplier(products, multiplier, shift).astype(np.int64)
    bounds = _bounds(attrs)
    steps = float_steps(products, np.clip(scaled + zero_point, *bounds), real, bounds)
    return Rescaling(steps, multiplier, shift, zero_point)


def _bounds(attrs: Attrs) -> tuple[int, int]:
    lowest = dtype_range(attrs.out_dtype)[0]
    return attrs.out_min - lowest, attrs.out_max - lowest


RULES = (
    *(
        (operator, partial(_combine, name="add", form_of=partial(_sum, operator=operator)))
        for operator in (quantized_add, quantized_subtract)
    ),
    (quantized_multiply, partial(_combine, name="multiply", form_of=_products)),
    (
        quantized_squared_difference,
        partial(_combine, name="squared_difference", form_of=_squares, bytes_per_microsecond=4_000),
    ),
)
