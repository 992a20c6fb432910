"""The ways to scale an accumulator down, by the name an operator's ``rounding`` takes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from qnn_ops.arithmetic import (
    clamp_to,
    multiply_by_quantized_multiplier,
    multiply_by_quantized_multiplier_single,
    quantize_multiplier,
    requantize_float32,
    requantize_float64,
)
from qnn_ops.errors import QnnError
from qnn_ops.wide_sums import multiply_by_reduced_multiplier, requantize_wide_float64

Array = np.ndarray[Any, Any]


def _tflite(accumulator: Array, real_multiplier: Array) -> Array:
    return multiply_by_quantized_multiplier(accumulator, *quantize_multiplier(real_multiplier))


def _upward(accumulator: Array, real_multiplier: Array) -> Array:
    return multiply_by_quantized_multiplier_single(
        accumulator, *quantize_multiplier(real_multiplier)
    )


def _float32(accumulator: Array, real_multiplier: Array) -> Array:
    return requantize_float32(accumulator, np.asarray(real_multiplier, dtype=np.float32))


def _float64(accumulator: Array, real_multiplier: Array) -> Array:
    return requantize_float64(accumulator, real_multiplier)


def _reduced(accumulator: Array, real_multiplier: Array) -> Array:
    return multiply_by_reduced_multiplier(accumulator, *quantize_multiplier(real_multiplier))


_BY_NAME: dict[str, Callable[[Array, Array], Array]] = {
    "tflite": _tflite,
    "upward": _upward,
    "float32": _float32,
    "float64": _float64,
    # Only the bias is added another way; see qnn_ops.float_epilogue.
    "onednn": _float32,
    "reduced": _reduced,
}
_OF_INT64 = {"float64": requantize_wide_float64, "reduced": _reduced}


def check_multiplier(real_multiplier: Array | float, rounding: str) -> None:
    """Raise unless ``scale_down`` can scale by these multipliers.

    Args:
        real_multiplier: float64, a scalar or one per channel.
        rounding: as ``scale_down`` takes it.

    Raises:
        QnnError: if one is not finite, or too large for the arithmetic: beyond 2^31 in fixed
            point, beyond float32 for "float32".
    """
    multiplier = np.asarray(real_multiplier)
    try:
        with np.errstate(over="ignore"):
            _BY_NAME[rounding](np.zeros_like(multiplier, np.int32), multiplier)
    except QnnError:
        raise QnnError(
            f"the scales do not go together: a step of what is summed is {multiplier.max():.4g} "
            f"steps of the output, too many for rounding {rounding!r}"
        ) from None


def scale_down(
    accumulator: Array,
    real_multiplier: Array,
    rounding: str,
    zero_point: int,
    bounds: tuple[int, int],
    dtype: str,
) -> Array:
    """Turn accumulators into quantized values.

    Args:
        accumulator: int32, any shape; int64 for rounding "reduced" or "float64".
        real_multiplier: float64, how many output steps an accumulator step is; a scalar, or an
            array that broadcasts to the accumulator (one per channel).
        rounding: "tflite" (gemmlowp: doubling high multiply, then rounding shift, each rounded),
            "upward" (one 64-bit multiply, rounded half up once), "float32" (float32 product,
            half to even: ONNX Runtime, XNNPACK), "float64" (float64 product, half away from
            zero) or "reduced" (one 64-bit multiply by 15 bits of the multiplier, rounded half
            up).
        zero_point: added after scaling.
        bounds: the clamp range.
        dtype: of the result.

    Returns:
        An array of ``dtype``, shaped as the accumulator.
    """
    ways = _OF_INT64 if accumulator.dtype == np.int64 else _BY_NAME
    scaled = ways[rounding](accumulator, real_multiplier)
    return clamp_to(scaled.astype(np.int64) + zero_point, dtype, *bounds)
