"""ONNX Runtime's arithmetic of quantized operators, on x86, in numpy.

Source: its CPU provider and MLAS, version 1.31.1. Everything is float32, and each operation rounds,
except for named fused multiply-adds. A pass may have moved 8-bit values to the other signedness.
Float32 arithmetic that depends on the difference uses the values and the zero points of the model.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from qnn_ops.arithmetic import float_polynomials as polynomials
from qnn_ops.arithmetic.fixed_point import float32_quotient, is_number
from qnn_ops.arithmetic.float_epilogue import fused_multiply_add_float32
from qnn_ops.arithmetic.rounded import rounded
from qnn_ops.arithmetic.rounding import scale_result
from qnn_ops.arrays import Array, Float32Array
from qnn_ops.dialect.attributes import dtype_range
from qnn_ops.dialect.expressions import sum_in_order, take
from qnn_ops.dialect.traits import OFFSETS
from qnn_ops.errors import QnnError

ONNXRUNTIME = "onnxruntime"

# The margin that QLinearSoftmax leaves below the largest float32, as a logarithm; and how many
# values a row may have for each step of floor(1 / output_scale) before a product leaves float32.
SOFTMAX_RESERVE = 5.0
_SOFTMAX_MOST = 2**30


class SumTerms(NamedTuple):
    """The constants of QLinearAdd, which computes rint(fma(a, first, fma(b, second, constant))).

    Attributes:
        swaps: whether b is the left operand.
        first: how many steps of the result one step of a is.
        second: how many steps of the result one step of b is.
        constant: the sum of what the three zero points contribute.
    """

    swaps: bool
    first: np.float32
    second: np.float32
    constant: np.float32


def is_onnxruntime(attrs: Any) -> bool:
    """Tell whether a call has ONNX Runtime's arithmetic."""
    return attrs.arithmetic == ONNXRUNTIME


def moved_by(model_dtype: str, dtype: str) -> int:
    """Return what a change of values from ``model_dtype`` to ``dtype`` has added to them."""
    return 0 if dtype == model_dtype else OFFSETS[dtype]


def sum_terms(
    attrs: Any, dtypes: tuple[str, str], shapes: tuple[tuple[int, ...], tuple[int, ...]]
) -> SumTerms:
    """Return the constants of a sum of tensors of ``dtypes`` and ``shapes``."""
    model = attrs.model_dtype
    sides = [
        (np.float32(attrs.lhs_scale), attrs.lhs_zero_point - moved_by(model, dtypes[0])),
        (np.float32(attrs.rhs_scale), attrs.rhs_zero_point - moved_by(model, dtypes[1])),
    ]
    swaps = first_is_repeated(*shapes)
    if swaps:
        sides.reverse()
    output = np.float32(attrs.output_scale)
    with np.errstate(over="ignore", under="ignore"):
        (first, first_point), (second, second_point) = (
            (np.float32(scale / output), np.float32(point)) for scale, point in sides
        )
        zero_point = attrs.output_zero_point - moved_by(model, attrs.out_dtype)
        inner = fused_multiply_add_float32(first, first_point, second * second_point)
        return SumTerms(swaps, first, second, np.float32(np.float32(zero_point) - inner))


def first_is_repeated(lhs: tuple[int, ...], rhs: tuple[int, ...]) -> bool:
    """Tell whether one value of lhs meets all values of rhs along the innermost axis."""
    rank = max(len(lhs), len(rhs))
    padded = ((1,) * (rank - len(shape)) + shape for shape in (lhs, rhs))
    sizes = [pair for pair in zip(*padded, strict=True) if pair != (1, 1)]
    return not sizes or (sizes[-1][0] == 1)


def sum_onnxruntime(attrs: Any, lhs: Array, rhs: Array) -> Array:
    """Add as QLinearAdd: two fused multiply-adds of the raw bytes, rounded half to even."""
    dtypes = str(lhs.dtype), str(rhs.dtype)
    terms = sum_terms(attrs, dtypes, (lhs.shape, rhs.shape))
    a, b = (
        (values.astype(np.int32) - moved_by(attrs.model_dtype, dtype)).astype(np.float32)
        for values, dtype in zip((lhs, rhs), dtypes, strict=True)
    )
    if terms.swaps:
        a, b = b, a
    inner = fused_multiply_add_float32(b, terms.second, terms.constant)
    return _stored(attrs, fused_multiply_add_float32(a, terms.first, inner))


def product_factor(attrs: Any) -> np.float32:
    """Return how many steps of the result one step of a product is."""
    return np.float32(float32_quotient((attrs.lhs_scale, attrs.rhs_scale), attrs.output_scale))


def product_onnxruntime(attrs: Any, lhs: Array, rhs: Array) -> Array:
    """Multiply as QLinearMul: the zero point is added before the sum is rounded half to even."""
    products = (lhs.astype(np.int32) - attrs.lhs_zero_point) * (
        rhs.astype(np.int32) - attrs.rhs_zero_point
    )
    zero_point = attrs.output_zero_point - moved_by(attrs.model_dtype, attrs.out_dtype)
    with np.errstate(over="ignore"):
        scaled = rounded(products.astype(np.float32) * product_factor(attrs))
        return _stored(attrs, scaled + np.float32(zero_point))


def _stored(attrs: Any, values: Float32Array) -> Array:
    """Round half to even, and clamp; the values include the model's zero point."""
    moved = moved_by(attrs.model_dtype, attrs.out_dtype)
    bounded = np.clip(np.rint(values), attrs.out_min - moved, attrs.out_max - moved)
    return (bounded.astype(np.int32) + moved).astype(attrs.out_dtype)


def quantize_onnxruntime(
    values: Any, scale: npt.ArrayLike, zero_point: npt.ArrayLike, dtype: str
) -> Any:
    """Quantize as QuantizeLinear: divide, clamp, then round half to even.

    Args:
        values: float32, any shape; NaN gives the lowest value.
        scale: broadcast with ``values``.
        zero_point: broadcast with ``values``.
        dtype: of the result.
    """
    low, high = dtype_range(dtype)
    with np.errstate(all="ignore"):
        steps = values / np.asarray(scale, np.float32)
    points = np.asarray(zero_point, np.int32)
    lowest, highest = (low - points).astype(np.float32), (high - points).astype(np.float32)
    bounded = np.clip(np.where(is_number(steps), steps, lowest), lowest, highest)
    return (np.rint(bounded).astype(np.int32) + points).astype(dtype)


def fields_onnxruntime(low: Any, high: Any) -> list[Any]:
    """Compute DynamicQuantizeLinear's scale, steps of a unit and zero point, for int8.

    Args:
        low: float32, the lower ends of ranges, at most 0.
        high: float32, the upper ends, at least 0.
    """
    length, one = high - low, np.float32(1)
    scale = np.where(length == 0, one, length / np.float32(255))
    # An infinite length could make it NaN.
    end = np.where(length <= np.finfo(np.float32).max, -(low / scale), np.float32(0))
    return [scale, one / scale, np.rint(np.clip(end, 0.0, 255.0)) - np.float32(128)]


def tabulated(
    data: tuple[float, int, str],
    result: tuple[float, int, str],
    function: Callable[[Float32Array], npt.ArrayLike] = np.asarray,
) -> Array:
    """Tabulate a function of float32 between two encodings, the lowest value's result first.

    Args:
        data: scale, zero point and dtype of the values.
        result: scale, zero point and dtype of the result.
        function: of the dequantized values; without it, the table changes their encoding.
    """
    scale, zero_point, dtype = data
    low, high = dtype_range(dtype)
    with np.errstate(over="ignore"):
        reals = np.float32(scale) * (np.arange(low, high + 1) - zero_point).astype(np.float32)
    return np.asarray(quantize_onnxruntime(function(reals), *result))


def bias_steps(reals: npt.ArrayLike, steps: npt.ArrayLike) -> Array:
    """Return a float bias as int32, in steps of the sums.

    A value that int32 does not hold becomes the lowest int32, as in x86's conversion.
    """
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        quotients = np.asarray(reals, np.float32) / np.asarray(steps, np.float32)
    whole = np.rint(quotients).astype(np.float64)
    lowest, above = -(2.0**31), 2.0**31
    fits = (whole >= lowest) & (whole < above)
    return np.where(fits, whole, lowest).astype(np.int32)


def is_within(encoding: tuple[float, int, str], bounds: Sequence[float]) -> bool:
    """Tell whether all values of an encoding lie within bounds, rounded to whole steps.

    Args:
        encoding: scale, zero point and dtype of the values.
        bounds: the lowest and the highest number.

    Returns:
        Whether they do; False also if a bound is NaN.
    """
    scale, zero_point, dtype = encoding
    info = np.iinfo(dtype)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        low, high = np.rint(np.asarray(bounds, np.float32) / np.float32(scale)) + zero_point
    return bool(low <= info.min and high >= info.max)


def mean_factor(attrs: Any, count: int) -> float:
    """Return how many steps of the result one step of a sum of ``count`` values is."""
    return float32_quotient((attrs.input_scale,), attrs.output_scale, count)


def mean_onnxruntime(attrs: Any, _dtype: str, sums: Any, count: int) -> Any:
    """Average as QLinearGlobalAveragePool: by one float32 product, rounded half to even.

    Args:
        attrs: the call's attributes.
        sums: int32, sums of the values as they are.
        count: the number of values in each sum.
    """
    centred, factor = sums - count * attrs.input_zero_point, mean_factor(attrs, count)
    return scale_result(attrs, centred, factor, "float32")


def softmax_table(input_scale: float, count: int) -> Float32Array:
    """Tabulate QLinearSoftmax's exponentials of the distances 255 to 0 from a row's maximum.

    Args:
        input_scale: real value of one step of the data.
        count: the number of values in a row.
    """
    scale = float(np.float32(input_scale))
    largest = np.float32(np.finfo(np.float32).max)
    logarithm = float(np.float32(math.log(float(largest / np.float32(count)))))
    shift = max(0.0, logarithm - SOFTMAX_RESERVE) / scale
    # The C library's function: numpy's own may differ in the last bit.
    exponentials = [math.exp((step - 255 + shift) * scale) for step in range(256)]
    return np.array(exponentials).astype(np.float32)


def softmax_factor(output_scale: float) -> np.float32:
    """Return the whole number of steps that stand for 1."""
    return np.float32(np.floor(np.float32(1) / np.float32(output_scale)))


def check_softmax(output_scale: float) -> None:
    """Raise if the steps of 1 do not fit 32 bits."""
    if softmax_factor(output_scale) >= _SOFTMAX_MOST:
        raise QnnError(f"output_scale {output_scale:.4g} is too small for a softmax")


def softmax_onnxruntime(attrs: Any, distance: Any) -> Any:
    """Compute QLinearSoftmax along the last axis: its sums are float32, its quotients float64.

    Args:
        attrs: the call's attributes.
        distance: int32, how far each value is below the largest of its row.
    """
    # The table has the largest distance first.
    table = softmax_table(attrs.input_scale, distance.shape[-1])[::-1].copy()
    terms = take(table, distance)
    total = sum_in_order(terms)
    factor = np.float64(softmax_factor(attrs.output_scale))
    steps = np.rint(terms.astype(np.float64) * factor / total.astype(np.float64))
    shifted = steps.astype(np.int32) + attrs.output_zero_point
    return np.clip(shifted, *dtype_range(attrs.out_dtype)).astype(attrs.out_dtype)


def logistic(values: npt.ArrayLike) -> Float32Array:
    """Compute 1 / (1 + exp(-x)) as QLinearSigmoid: a quotient of polynomials, by Horner."""
    x = _between(values, polynomials.LOGISTIC_END)
    square = x * x
    numerator = horner(polynomials.LOGISTIC_ABOVE, square)
    denominator = horner(polynomials.LOGISTIC_UNDER, square)
    return np.maximum(np.float32(0), x * numerator / denominator + np.float32(0.5))


def hyperbolic_tangent(values: npt.ArrayLike) -> Float32Array:
    """Compute the hyperbolic tangent as Tanh: a quotient of polynomials, by Horner."""
    return _tangent(_between(values, polynomials.TANH_END), fused_multiply_add_float32)


def gru_tangent(values: npt.ArrayLike) -> Float32Array:
    """Compute the hyperbolic tangent as GRU does: like Tanh, but it rounds every product."""
    return _tangent(_between(values, polynomials.GRU_TANH_END), lambda a, b, c: a * b + c)


def _tangent(x: Float32Array, add: Callable[..., Any]) -> Float32Array:
    above, under = (
        horner(part, x * x, add) for part in (polynomials.TANH_ABOVE, polynomials.TANH_UNDER)
    )
    return np.asarray(x * above / under, np.float32)


def _between(values: npt.ArrayLike, end: float) -> Float32Array:
    return np.minimum(np.maximum(np.asarray(values, np.float32), np.float32(-end)), np.float32(end))


def horner(
    coefficients: Sequence[float],
    x: Array,
    add: Callable[..., Any] = fused_multiply_add_float32,
) -> Float32Array:
    """Compute a polynomial; its coefficient of the highest power comes first.

    Args:
        coefficients: of the polynomial.
        x: float32.
        add: adds a number to a product of two.
    """
    total = np.full_like(x, coefficients[0])
    for coefficient in coefficients[1:]:
        total = np.asarray(add(total, x, np.float32(coefficient)), np.float32)
    return total
