"""The ways to scale an accumulator down, by the name an operator's ``rounding`` takes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from qnn_ops.arithmetic import (
    quantize_multiplier,
    scaled_float32,
    scaled_float64,
    scaled_once,
    scaled_twice,
)
from qnn_ops.errors import QnnError
from qnn_ops.wide_sums import MOST_SHIFT, multiply_by_reduced_multiplier

Array = np.ndarray[Any, Any]


_BY_NAME: dict[str, Callable[[Any, Array], Any]] = {
    "tflite": lambda x, real: scaled_twice(x, *quantize_multiplier(real)),
    "upward": lambda x, real: scaled_once(x, *quantize_multiplier(real), 31),
    "float32": scaled_float32,
    "float64": scaled_float64,
    # Only the bias is added another way; see qnn_ops.float_epilogue.
    "onednn": scaled_float32,
    "reduced": lambda x, real: multiply_by_reduced_multiplier(x, *quantize_multiplier(real)),
}
_MOST_SHIFT = {"tflite": 31, "upward": 30, "reduced": MOST_SHIFT}


def check_multiplier(real_multiplier: Array | float, rounding: str) -> None:
    """Raise unless ``scale_down`` can scale by these multipliers.

    Args:
        real_multiplier: float64, a scalar or one per channel.
        rounding: as ``scale_down`` takes it.

    Raises:
        QnnError: if one is not finite, or too large for the arithmetic: beyond 2^31 in fixed
            point, beyond float32 for "float32".
    """
    multiplier = np.asarray(real_multiplier, np.float64)
    with np.errstate(over="ignore"):
        single = rounding in ("float32", "onednn")
        fits = np.isfinite(multiplier.astype(np.float32) if single else multiplier).all()
    if fits and rounding in _MOST_SHIFT:
        fits = (quantize_multiplier(multiplier)[1] <= _MOST_SHIFT[rounding]).all()
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
        accumulator: int32, any shape; int64 for rounding "reduced" or "float64". An array or an
            expression.
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
    scaled = _BY_NAME[rounding](accumulator, np.asarray(real_multiplier, np.float64))
    return np.clip(scaled.astype(np.int64) + zero_point, *bounds).astype(dtype)
