"""The ways to scale an accumulator down, by the names that an operator's ``rounding`` takes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from qnn_ops.arithmetic.fixed_point import (
    quantize_multiplier,
    scaled_float32,
    scaled_float64,
    scaled_once,
    scaled_twice,
)
from qnn_ops.arithmetic.wide_sums import MOST_SHIFT, REDUCED, multiply_by_reduced_multiplier
from qnn_ops.errors import QnnError

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Rounding:
    """A way to scale an accumulator down.

    Attributes:
        scaled: multiplies integers by real multipliers, and rounds.
        most_shift: the largest left shift of a fixed-point multiplier; None if there is none.
        is_single: whether multipliers are float32.
        of_litert: whether it is LiteRT's way; then sums wrap in int32.
    """

    scaled: Callable[[Any, Array], Any]
    most_shift: int | None = None
    is_single: bool = False
    of_litert: bool = False


ROUNDINGS = {
    "tflite": Rounding(
        lambda x, real: scaled_twice(x, *quantize_multiplier(real)), 31, of_litert=True
    ),
    "upward": Rounding(lambda x, real: scaled_once(x, *quantize_multiplier(real), 31), 30),
    "float32": Rounding(scaled_float32, is_single=True),
    "float64": Rounding(scaled_float64, of_litert=True),
}
"""The roundings of all operators that scale."""

SUM_ROUNDINGS = {
    **ROUNDINGS,
    # It differs only in how the bias is added; see qnn_ops.arithmetic.float_epilogue.
    "onednn": Rounding(scaled_float32, is_single=True),
    REDUCED: Rounding(
        lambda x, real: multiply_by_reduced_multiplier(x, *quantize_multiplier(real)), MOST_SHIFT
    ),
}
"""The roundings of convolutions and dense layers."""


def check_multiplier(real_multiplier: Array | float, rounding: str) -> None:
    """Raise unless ``scale_down`` can scale by these multipliers.

    Args:
        real_multiplier: float64, a scalar or one per channel.
        rounding: as ``scale_down`` takes it.

    Raises:
        QnnError: if a multiplier is not finite, or too large for the arithmetic: beyond 2^31 in
            fixed point, beyond float32 for "float32".
    """
    multiplier = np.asarray(real_multiplier, np.float64)
    rule = SUM_ROUNDINGS[rounding]
    with np.errstate(over="ignore"):
        fits = np.isfinite(multiplier.astype(np.float32) if rule.is_single else multiplier).all()
    if fits and rule.most_shift is not None:
        fits = (quantize_multiplier(multiplier)[1] <= rule.most_shift).all()
    if not fits:
        raise QnnError(
            f"the scales do not go together: a step of what is summed is {multiplier.max():.4g} "
            f"steps of the output, too many for rounding {rounding!r}"
        )


def scale_down(
    accumulator: Any,
    real_multiplier: Array | float,
    rounding: str,
    zero_point: int,
    bounds: tuple[int, int],
    dtype: str,
) -> Any:
    """Turn accumulators into quantized values.

    Args:
        accumulator: an array or an expression: int32, any shape; int64 for rounding "reduced" or
            "float64".
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
        Values of ``dtype``, shaped as the accumulator.
    """
    scaled = SUM_ROUNDINGS[rounding].scaled(accumulator, np.asarray(real_multiplier, np.float64))
    return np.clip(scaled.astype(np.int64) + zero_point, *bounds).astype(dtype)
