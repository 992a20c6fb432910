"""Step functions of an integer that round, computed in float32 if that is proved exact.

An 8-bit result of an integer x is trunc(x·scale + addend). Negative x may need another addend, as
TFLite's double rounding moves the steps towards zero. All possible x are tried, with separate
roundings of product and sum, and with the one rounding of a fused instruction: a compiler may
choose either.
"""

from dataclasses import dataclass

import numpy as np
from tvm.script.ir_builder import tirx as T

from legalize.kernels.ir.vectors import Array, Vector, lanes_in, splat

_LARGEST_PRODUCT = 2.0**30
# Products of 17 bits by float32 scales from here on, and their sums, are exact in float64.
_LARGEST_INTEGER = 1 << 17
_LEAST_SCALE = 2.0**-18
# Below it float32 holds the scaled squares of 15 bits, and int32 holds them rounded.
_LEAST_SQUARE_SCALE, _LARGEST_SQUARE_SCALE = 2.0**-60, 1.0


@dataclass(frozen=True)
class FloatSteps:
    """trunc(x·scale + addend), saturated to 0..255.

    Attributes:
        scale: a float32.
        addend: a float32.
        addend_below: the addend for x < 0; None if it is the same.
    """

    scale: float
    addend: float
    addend_below: float | None


def float_steps(
    x: Array, outputs: Array, scale: float, bounds: tuple[int, int]
) -> FloatSteps | None:
    """Find addends that make the sum, clamped to bounds, exact.

    Args:
        x: all possible integers, int64.
        outputs: the results, within the bounds.
        scale: the approximate size of a step of x.
        bounds: within 0 to 255.

    Returns:
        None if there are none.
    """
    scale = float(np.float32(scale))
    largest = int(np.abs(x).max(initial=0))
    if (
        not _LEAST_SCALE <= scale <= _LARGEST_PRODUCT / _LARGEST_INTEGER
        or largest > _LARGEST_INTEGER
    ):
        return None

    def addend_for(chosen: Array) -> float | None:
        if not chosen.any():
            return 0.0
        return _addend(x[chosen], outputs[chosen], scale, bounds)

    same = addend_for(np.full(x.shape, True))
    if same is not None:
        return FloatSteps(scale, same, None)
    above, below = addend_for(x >= 0), addend_for(x < 0)
    return None if above is None or below is None else FloatSteps(scale, above, below)


def square_steps(outputs: Array, scale: float, bounds: tuple[int, int]) -> FloatSteps | None:
    """Find an addend that makes the steps of squares of up to 30 bits exact.

    Args:
        outputs: the results for the squares of 0, 1, …, within the bounds.
        scale: the approximate size of a step of a square.
        bounds: within 0 to 255.

    Returns:
        None if there is none.
    """
    scale = float(np.float32(scale))
    if not _LEAST_SQUARE_SCALE <= scale <= _LARGEST_SQUARE_SCALE:
        return None
    # The squares are rounded as a conversion to float32 rounds them.
    squares = (np.arange(outputs.size) ** 2).astype(np.float32).astype(np.float64)
    addend = _addend(squares, outputs, scale, bounds)
    if addend is None:
        return None
    # Their products are exact in float64, but the sum with an addend is not always.
    sums = squares * scale + addend
    for end in (-np.inf, np.inf):
        if (
            np.clip(np.trunc(np.nextafter(sums, end).astype(np.float32)), *bounds) != outputs
        ).any():
            return None
    return FloatSteps(scale, addend, None)


def _addend(x: Array, outputs: Array, scale: float, bounds: tuple[int, int]) -> float | None:
    products = x * scale
    # Numbers between -1 and 0 are truncated to 0; all lower ones saturate there.
    least = np.where(outputs > bounds[0], outputs - products, -np.inf).max()
    most = np.where(outputs < bounds[1], outputs + 1 - products, np.inf).min()
    if np.isinf(least) and np.isinf(most):
        return None
    ends = [end for end in (least, most) if not np.isinf(end)]
    addend = np.float32(sum(ends) / len(ends))
    fused = (products + float(addend)).astype(np.float32)
    apart = products.astype(np.float32) + addend
    for sums in (fused, apart):
        if (np.clip(np.trunc(sums), *bounds) != outputs).any():
            return None
    return float(addend)


def stepped(steps: FloatSteps, x: Vector) -> Vector:
    """Return the result for a vector of int32, before it saturates."""
    lanes = lanes_in(x)
    addend = splat("float32", steps.addend, lanes)
    if steps.addend_below is not None:
        below = splat("float32", steps.addend_below, lanes)
        addend = T.Select(x < splat("int32", 0, lanes), below, addend)
    value = T.Cast(f"float32x{lanes}", x) * splat("float32", steps.scale, lanes) + addend
    return T.Cast(f"int32x{lanes}", value)
