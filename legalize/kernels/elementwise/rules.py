"""Rules for sums, differences, products and squared differences."""

from functools import partial
from typing import Any

import numpy as np

from legalize.kernels.call import call_tir
from legalize.kernels.elementwise.add import Terms, add, sum_form
from legalize.kernels.elementwise.float_steps import float_steps, square_steps
from legalize.kernels.elementwise.multiply import (
    Rescaling,
    Rounding,
    Squares,
    multiply,
    squared_difference,
)
from legalize.kernels.isa.base import VectorIsa
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
from qnn_ops.dialect.attributes import dtype_range
from qnn_ops.dialect.declared import LITERT
from qnn_ops.dialect.registry import Attrs, Operator, TensorSpec, spec_of
from qnn_ops.quantized.binary import SQUARE_SHIFT, square_multipliers
from qnn_ops.quantized.elementwise import product_multiplier, sum_multipliers

# The bound of a product that is shifted left: int32 holds it, and its sum with a zero point.
_LARGEST_LIFTED = 2**31 - 1 - 255


def _sum(
    builder: Builder, attrs: Attrs, operands: Operands, *, isa: VectorIsa, operator: Operator[Any]
) -> Lowered:
    lhs, rhs = (spec_of(operand) for operand in operands)
    shape = _shape(lhs, rhs)
    if shape is None:
        return None
    exact: Any = sum_form(operator, attrs, lhs, rhs, fuses=isa.fuses_products)
    if exact is None and attrs.arithmetic == LITERT:
        exact = _terms(operator, attrs, (lhs.dtype, rhs.dtype))
    if exact is None:
        return None
    dtypes = lhs.dtype, rhs.dtype, attrs.out_dtype
    function = add(isa, (lhs.shape, rhs.shape), exact, dtypes, _bounds(attrs))
    return call_tir(builder, "add", function, list(operands), shape, attrs.out_dtype)


def _terms(operator: Operator[Any], attrs: Attrs, dtypes: tuple[str, str]) -> Terms:
    reals, sign = sum_multipliers(attrs), -1 if operator is quantized_subtract else 1
    return Terms(sign, _zero_points(attrs, dtypes), _integers(reals), reals[2] >= 1)


def _zero_points(attrs: Attrs, dtypes: tuple[str, str]) -> tuple[int, int, int]:
    return (
        attrs.lhs_zero_point - dtype_range(dtypes[0])[0],
        attrs.rhs_zero_point - dtype_range(dtypes[1])[0],
        attrs.output_zero_point - dtype_range(attrs.out_dtype)[0],
    )


def _integers(
    reals: tuple[float, float, float],
) -> tuple[tuple[int, int], tuple[int, int], tuple[int, int]]:
    """Return multipliers with their shifts."""
    multipliers = [quantize_multiplier(real) for real in reals]
    left, right, whole = ((int(multiplier), int(shift)) for multiplier, shift in multipliers)
    return left, right, whole


def _squared_difference(
    builder: Builder, attrs: Attrs, operands: Operands, *, isa: VectorIsa
) -> Lowered:
    lhs, rhs = (spec_of(operand) for operand in operands)
    shape = _shape(lhs, rhs)
    if shape is None:
        return None
    zero_points = _zero_points(attrs, (lhs.dtype, rhs.dtype))
    reals = square_multipliers(attrs)
    # On their common scale, operands are at most half of 255, shifted.
    most = (255 << SQUARE_SHIFT) + 2
    exact = multiply_by_quantized_multiplier(np.arange(most) ** 2, *quantize_multiplier(reals[2]))
    outputs = np.clip(exact.astype(np.int64) + zero_points[2], *_bounds(attrs))
    steps = square_steps(outputs, reals[2], _bounds(attrs))
    squares = Squares(zero_points, _integers(reals), steps)
    dtypes = lhs.dtype, rhs.dtype, attrs.out_dtype
    function = squared_difference(isa, (lhs.shape, rhs.shape), squares, dtypes, _bounds(attrs))
    name = "squared_difference"
    return call_tir(builder, name, function, list(operands), shape, attrs.out_dtype)


def _multiply(builder: Builder, attrs: Attrs, operands: Operands, *, isa: VectorIsa) -> Lowered:
    lhs, rhs = (spec_of(operand) for operand in operands)
    shape = _shape(lhs, rhs)
    if shape is None:
        return None
    dtypes = lhs.dtype, rhs.dtype, attrs.out_dtype
    zero_points = _zero_points(attrs, (lhs.dtype, rhs.dtype))[:2]
    is_litert = attrs.arithmetic == LITERT
    rescaling = _rescaling(attrs, zero_points) if is_litert else _rounding(attrs)
    if rescaling is None:
        return None
    function = multiply(isa, (lhs.shape, rhs.shape), zero_points, rescaling, dtypes, _bounds(attrs))
    return call_tir(builder, "multiply", function, list(operands), shape, attrs.out_dtype)


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


def _rescaling(attrs: Attrs, zero_points: tuple[int, int]) -> Rescaling | None:
    """Return the rescaling of products; None if it leaves int32 and wraps."""
    real = product_multiplier(attrs)
    multiplier, shift = (int(part) for part in quantize_multiplier(real))
    zero_point = attrs.output_zero_point - dtype_range(attrs.out_dtype)[0]
    ends = [(-zero, 255 - zero) for zero in zero_points]
    corners = [left * right for left in ends[0] for right in ends[1]]
    products = np.arange(min(corners), max(corners) + 1)
    if max(map(abs, corners)) << max(shift, 0) > _LARGEST_LIFTED:
        return None
    scaled = multiply_by_quantized_multiplier(products, multiplier, shift).astype(np.int64)
    bounds = _bounds(attrs)
    steps = float_steps(products, np.clip(scaled + zero_point, *bounds), real, bounds)
    return Rescaling(steps, multiplier, shift, zero_point)


def _shape(lhs: TensorSpec, rhs: TensorSpec) -> tuple[int, ...] | None:
    """Return the result's shape; None for a scalar and for an empty result."""
    shape = np.broadcast_shapes(lhs.shape, rhs.shape)
    return None if 0 in shape or not shape else shape


def _bounds(attrs: Attrs) -> tuple[int, int]:
    lowest = dtype_range(attrs.out_dtype)[0]
    return attrs.out_min - lowest, attrs.out_max - lowest


RULES = (
    (quantized_add, partial(_sum, operator=quantized_add)),
    (quantized_subtract, partial(_sum, operator=quantized_subtract)),
    (quantized_multiply, _multiply),
    (quantized_squared_difference, _squared_difference),
)
