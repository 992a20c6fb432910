"""Scaling of integers as Relax expressions; the counterparts of qnn_ops.rounding.

Everything after a 32-bit product runs in int64, where nothing can overflow: the multipliers
are positive, so the one case in which gemmlowp's doubling multiply saturates cannot occur.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from tvm import relax
from tvm.relax import op as R

from qnn_ops.arithmetic import quantize_multiplier
from qnn_ops.registry import spec_of
from qnn_ops.wide_sums import reduced_multiplier

Array = np.ndarray[Any, Any]


def scale_down(
    builder: relax.BlockBuilder,
    accumulator: relax.Expr,
    real_multiplier: Array | float,
    rounding: str,
    zero_point: int,
    bounds: tuple[int, int],
    dtype: str,
) -> relax.Expr:
    """Turn int32 accumulators into quantized values, as qnn_ops.rounding.scale_down does.

    Args:
        builder: emits what is used twice.
        accumulator: int32 expression; int64 for rounding "reduced" or "float64".
        real_multiplier: float64, broadcasting to the accumulator.
        rounding: "tflite", "upward", "float32", "float64" or "reduced".
        zero_point: added after scaling.
        bounds: the clamp range.
        dtype: of the result.
    """
    scaled = _BY_NAME[rounding](builder, accumulator, np.asarray(real_multiplier, np.float64))
    return saturate(R.add(scaled, const(zero_point, "int64")), bounds, dtype)


def saturate(value: relax.Expr, bounds: tuple[int, int], dtype: str) -> relax.Expr:
    """Clamp an int64 expression to ``bounds`` and cast it."""
    low, high = (const(bound, "int64") for bound in bounds)
    return R.astype(R.minimum(R.maximum(value, low), high), dtype)


def multiply_by_quantized_multiplier(
    builder: relax.BlockBuilder, value: relax.Expr, multiplier: Array, shift: Array
) -> relax.Expr:
    """Multiply with gemmlowp's two roundings ("double" in numpy): int32 in, int64 out."""
    shift = np.asarray(shift, np.int64)
    left, right = np.maximum(shift, 0), np.maximum(-shift, 0)
    if left.any():
        # In int32, where the reference's left shift wraps.
        value = R.left_shift(value, const(left, "int32"))
    product = R.multiply(R.astype(value, "int64"), const(multiplier, "int64"))
    high = R.right_shift(R.add(product, const(1 << 30, "int64")), const(31, "int64"))
    if not right.any():
        return high
    high = builder.emit(high)
    # Half away from zero: a negative value rounds down at a tie, unless nothing is shifted out.
    half = (np.int64(1) << right) >> 1
    away = R.bitwise_and(
        R.right_shift(high, const(63, "int64")), const(np.where(right > 0, -1, 0), "int64")
    )
    return R.right_shift(R.add(R.add(high, const(half, "int64")), away), const(right, "int64"))


def multiply_by_quantized_multiplier_single(
    value: relax.Expr, multiplier: Array, shift: Array
) -> relax.Expr:
    """Multiply in 64 bits and round half up once: int32 in, int64 out."""
    down = 31 - np.asarray(shift, np.int64)
    product = R.multiply(R.astype(value, "int64"), const(multiplier, "int64"))
    half = np.int64(1) << (down - 1)
    scaled = R.right_shift(R.add(product, const(half, "int64")), const(down, "int64"))
    # The reference's result is int32, and wraps where the scale is far too large for it.
    return R.astype(R.astype(scaled, "int32"), "int64")


def multiply_by_reduced_multiplier(
    value: relax.Expr, multiplier: Array, shift: Array
) -> relax.Expr:
    """Multiply by 15 bits of the multiplier and round half up once: int64 in, int64 out."""
    down = 15 - np.asarray(shift, np.int64)
    product = R.multiply(value, const(reduced_multiplier(multiplier), "int64"))
    half = np.int64(1) << (down - 1)
    scaled = R.right_shift(R.add(product, const(half, "int64")), const(down, "int64"))
    # As above, the reference's result is int32.
    return R.astype(R.astype(scaled, "int32"), "int64")


def round_half_away(builder: relax.BlockBuilder, value: relax.Expr) -> relax.Expr:
    """Round a float expression to the nearest integer, ties away from zero, as std::round."""
    value = builder.emit(value)
    dtype = spec_of(value).dtype
    whole = builder.emit(R.trunc(value))
    # The difference is exact, which adding one half to the value would not be.
    fraction = R.abs(R.subtract(value, whole))
    step = R.astype(R.greater_equal(fraction, const(0.5, dtype)), dtype)
    return R.add(whole, R.multiply(step, R.sign(value)))


def const(value: Any, dtype: str) -> relax.Constant:
    """Return a constant of ``dtype``; scalars stay 0-dimensional."""
    return relax.const(np.asarray(value, dtype=dtype), dtype)


def _tflite(builder: relax.BlockBuilder, value: relax.Expr, real: Array) -> relax.Expr:
    return multiply_by_quantized_multiplier(builder, value, *quantize_multiplier(real))


def _upward(_builder: relax.BlockBuilder, value: relax.Expr, real: Array) -> relax.Expr:
    return multiply_by_quantized_multiplier_single(value, *quantize_multiplier(real))


def _float32(_builder: relax.BlockBuilder, value: relax.Expr, real: Array) -> relax.Expr:
    product = R.multiply(R.astype(value, "float32"), const(real, "float32"))
    # Bounded so that the cast is defined. float32 has no 2^31 - 1, so that end comes after it.
    bounded = R.clip(R.round(product), -2147483648.0, 2147483648.0)
    return R.minimum(R.astype(bounded, "int64"), const(2**31 - 1, "int64"))


def _float64(builder: relax.BlockBuilder, value: relax.Expr, real: Array) -> relax.Expr:
    product = R.multiply(R.astype(value, "float64"), const(real, "float64"))
    # Saturated before it is rounded: between the product and the subtraction that rounding
    # begins with, this also keeps compilers from making one fused multiply-add of the two.
    bounded = R.clip(product, -2147483648.0, 2147483647.0)
    return R.astype(round_half_away(builder, bounded), "int64")


def _reduced(_builder: relax.BlockBuilder, value: relax.Expr, real: Array) -> relax.Expr:
    return multiply_by_reduced_multiplier(value, *quantize_multiplier(real))


_BY_NAME: dict[str, Callable[[relax.BlockBuilder, relax.Expr, Array], relax.Expr]] = {
    "tflite": _tflite,
    "upward": _upward,
    "float32": _float32,
    "float64": _float64,
    "reduced": _reduced,
}
