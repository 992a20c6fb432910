"""The clamps of activations that are fused into other operators."""

from functools import lru_cache

import numpy as np

from qnn_ops.arithmetic.fixed_point import round_half_away
from qnn_ops.dialect.attributes import dtype_range
from qnn_ops.dialect.checks import positive_float32
from qnn_ops.errors import QnnError

# The lowest and highest real value of a fused activation's clamp; None leaves that side open.
_ACTIVATIONS: dict[str, tuple[float | None, float | None]] = {
    "none": (None, None),
    "relu": (0.0, None),
    "relu6": (0.0, 6.0),
    "relu_0_to_1": (0.0, 1.0),
    "relu_n1_to_1": (-1.0, 1.0),
}


def activation_range(kind: str, scale: float, zero_point: int, dtype: str) -> tuple[int, int]:
    """Return the clamp range of a fused activation, as integers of a quantized output.

    Source: CalculateActivationRangeQuantized of TFLite's kernels/kernel_util.cc:
    zero_point + round_half_away(bound / scale), divided in float32, kept within the dtype.

    Args:
        kind: "none", "relu", "relu6", "relu_0_to_1" or "relu_n1_to_1".
        scale: real value of one step of the output; taken as float32.
        zero_point: the output's value that means 0.
        dtype: int8, uint8, int16 or int32.

    Returns:
        (lowest, highest) quantized value.

    Raises:
        QnnError: if the kind or dtype is unknown, the scale not positive and finite, or the zero
            point outside the dtype.
    """
    lowest, highest = dtype_range(dtype)
    low, high = activation_steps(kind, scale)
    if not lowest <= zero_point <= highest:
        raise QnnError(f"zero_point must lie within {dtype}, got {zero_point}")
    return (
        lowest if low is None else int(np.clip(zero_point + low, lowest, highest)),
        highest if high is None else int(np.clip(zero_point + high, lowest, highest)),
    )


@lru_cache
def activation_steps(kind: str, scale: float) -> tuple[float | None, float | None]:
    """Return the ends of an activation's range, in whole steps from the zero point.

    Args:
        kind: as ``activation_range`` takes it.
        scale: real value of one step, a number; taken as float32.

    Returns:
        (lowest, highest): any magnitude, or infinite; None for an end that is open.

    Raises:
        QnnError: if the kind is unknown, or the scale not positive and finite.
    """
    if kind not in _ACTIVATIONS:
        raise QnnError(f"an activation must be one of {', '.join(_ACTIVATIONS)}, got {kind!r}")
    step = positive_float32("scale", scale)

    def steps(bound: float | None) -> float | None:
        with np.errstate(over="ignore"):
            return None if bound is None else float(round_half_away(np.float32(bound) / step))

    low, high = _ACTIVATIONS[kind]
    return steps(low), steps(high)
