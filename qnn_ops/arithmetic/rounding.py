"""The ways to scale an accumulator down, by the names that an operator's ``rounding`` takes."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from qnn_ops.arithmetic.fixed_point import (
    MOST_REDUCED_SHIFT,
    multiply_by_reduced_multiplier,
    quantize_multiplier,
    scaled_float32,
    scaled_float64,
    scaled_once,
    scaled_twice,
)
from qnn_ops.arrays import Array
from qnn_ops.dialect.attributes import bounds
from qnn_ops.dialect.registry import Attrs
from qnn_ops.errors import QnnError


@dataclass(frozen=True)
class Rounding:
    """A way to scale an accumulator down.

    Attributes:
        scaled: computes x · multiplier · 2^shift, rounded.
        most_shift: the largest shift; None if multipliers are floats, whose shift is 0.
        dtype: the dtype in which kernels store multipliers.
        of_litert: whether it is LiteRT's way; then sums wrap in int32.
    """

    scaled: Callable[[Any, Any, Any], Any]
    most_shift: int | None = None
    dtype: str = "int32"
    of_litert: bool = False

    def constants(self, real: Any) -> tuple[Any, Any]:
        """Return multipliers and shifts for float64 multipliers; floats stay in float64."""
        return (real, 0) if self.most_shift is None else quantize_multiplier(real)


REDUCED = "reduced"
"""The rounding of wide sums."""

ROUNDINGS = {
    "tflite": Rounding(scaled_twice, 31, of_litert=True),
    "upward": Rounding(partial(scaled_once, bits=31), 30),
    "float32": Rounding(lambda x, real, _: scaled_float32(x, real), dtype="float32"),
    "float64": Rounding(
        lambda x, real, _: scaled_float64(x, real), dtype="float64", of_litert=True
    ),
}
"""The roundings of all operators that scale."""

SUM_ROUNDINGS = {
    **ROUNDINGS,
    # It differs only in how the bias is added; see qnn_ops.arithmetic.float_epilogue.
    "onednn": ROUNDINGS["float32"],
    REDUCED: Rounding(multiply_by_reduced_multiplier, MOST_REDUCED_SHIFT),
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
        is_single = rule.dtype == "float32"
        fits = np.isfinite(multiplier.astype(np.float32) if is_single else multiplier).all()
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
    rule = SUM_ROUNDINGS[rounding]
    scaled = rule.scaled(accumulator, *rule.constants(np.asarray(real_multiplier, np.float64)))
    return np.clip(scaled.astype(np.int64) + zero_point, *bounds).astype(dtype)


def scale_result(attrs: Attrs, accumulator: Any, real_multiplier: Any, rounding: str) -> Any:
    """Apply ``scale_down`` with the zero point, the bounds and the dtype of a call's result."""
    point, dtype = attrs.output_zero_point, attrs.out_dtype
    return scale_down(accumulator, real_multiplier, rounding, point, bounds(attrs, dtype), dtype)
