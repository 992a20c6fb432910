"""Functions of a byte, in the cheapest form that is exact.

All take and return steps from the lowest value of a dtype, 0 to 255. So a copy, or a move from int8
to uint8 by 128, is a clamp without effect.
"""

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from tvm.script.ir_builder import tirx as T

from legalize.kernels.ir.vectors import Array, Vector, clamped, lanes_in, splat
from legalize.kernels.isa.base import VectorIsa

_STEPS = np.arange(256)
_LARGEST_WORD = (1 << 15) - 1
_LARGEST_MULTIPLIER = (1 << 16) - 1


@dataclass(frozen=True)
class Clamp:
    """The identity, clamped to ``low`` and ``high``."""

    low: int
    high: int


@dataclass(frozen=True)
class Scaling:
    """((x·multiplier >> 8) + addend) >> shift in 16 bits, clamped.

    Attributes:
        multiplier: an integer of 16 bits.
        addend: an integer of 16 bits and a sign.
        shift: the right shift.
        low: the lowest result.
        high: the highest result.
    """

    multiplier: int
    addend: int
    shift: int
    low: int
    high: int


@dataclass(frozen=True)
class Table:
    """Any function, as a table."""


Change: TypeAlias = "Clamp | Scaling | Table"


def cheapest_change(outputs: Array) -> Change:
    """Return the cheapest form of a function.

    Args:
        outputs: [256], the results of 0 to 255, within 0 to 255.
    """
    outputs = outputs.astype(np.int64)
    low, high = int(outputs.min()), int(outputs.max())
    if (np.clip(_STEPS, low, high) == outputs).all():
        return Clamp(low, high)
    return _scaling(outputs, low, high) or Table()


def changed(isa: VectorIsa, change: Clamp | Scaling, value: Vector) -> Vector:
    """Change uint8x(isa.size)."""
    if isinstance(change, Clamp):
        return clamped(value, change.low, change.high)

    def scaled(half: Vector) -> Vector:
        lanes = lanes_in(half)
        total = isa.scaled(half, change.multiplier) + splat("int16", change.addend, lanes)
        return T.shift_right(total, splat("int16", change.shift, lanes))

    return clamped(isa.narrow(*map(scaled, isa.widen(value))), change.low, change.high)


def _scaling(outputs: Array, low: int, high: int) -> Scaling | None:
    slope = _slope(outputs, low, high)
    if slope is None:
        return None
    # The largest shift that leaves room for the products is the most precise one.
    most = min(int(np.log2(_LARGEST_WORD / (255 * slope))), 14)
    for shift in range(most, max(most - 2, -1), -1):
        nearest = round(slope * 2.0 ** (shift + 8))
        for multiplier in (nearest, nearest - 1, nearest + 1):
            addend = _addend(outputs, low, high, multiplier, shift)
            if addend is not None:
                return Scaling(multiplier, addend, shift, low, high)
    return None


def _slope(outputs: Array, low: int, high: int) -> float | None:
    """Find the middle slope of the lines whose floors are the outputs, clamped."""
    # The line reaches outputs above the low end, and stays below the next integer of those below
    # the high end.
    is_reached, is_kept = outputs > low, outputs < high
    right = _STEPS[:, None] < _STEPS[None, :]
    rise = outputs[None, :] - outputs[:, None]
    run = np.maximum(_STEPS[None, :] - _STEPS[:, None], 1)
    steeper = right & is_kept[:, None] & is_reached[None, :]
    flatter = right & is_reached[:, None] & is_kept[None, :]
    least = np.where(steeper, (rise - 1) / run, -np.inf).max()
    most = np.where(flatter, (rise + 1) / run, np.inf).min()
    if np.isinf(least) or np.isinf(most) or least > most or least + most <= 0:
        return None
    return float(least + most) / 2


def _addend(outputs: Array, low: int, high: int, multiplier: int, shift: int) -> int | None:
    products = _STEPS * multiplier >> 8
    least = np.where(outputs > low, (outputs << shift) - products, -_LARGEST_WORD).max()
    most = np.where(outputs < high, ((outputs + 1) << shift) - 1 - products, _LARGEST_WORD).min()
    addend = int(least + most) // 2
    fits = products[-1] <= _LARGEST_WORD and products[-1] + addend <= _LARGEST_WORD
    is_right = least <= most and 0 < multiplier <= _LARGEST_MULTIPLIER
    return addend if fits and is_right else None
