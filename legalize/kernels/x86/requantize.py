"""From int32 accumulators to quantized outputs: the end of every x86 kernel.

With p = x·q, the 64-bit product of accumulator and multiplier, e the right shift, z the zero
point and h = (p + 2^30) >> 31:

* ``upward`` rounding is (p + 2^(30+e)) >> (31+e);
* ``tflite`` rounding is (h + 2^(e-1) - [h < 0]) >> e for e > 0, and h for e = 0.

Floors of floors are one floor, so without its last term the second is
(p + 2^30 + 2^(30+e)) >> (31+e): one multiplication, addition and shift of 64 bits, into whose
addend the zero point z goes too, as z·2^(31+e), unless e is so large that it would leave 64 bits.
The last term lowers no result above zero. So it can be left out where the clamp begins at the
zero point, as after a ReLU; and it does not matter whether it asks for h < 0 or x < 0, as they
only differ where h = 0 and the result is 0.

Lanes are multiplied as vpmuldq does, even and odd ones apart. The even results are shifted to
the lower half of their 64 bits, the odd ones to the upper half, and one select joins them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from tvm.script.ir_builder import tirx as T

from legalize.kernels.x86.spec import ConvSpec

# With accumulators below this, |p| < 2^61 and |h| < 2^30, and no sum here leaves its lane.
_MAX_FAST_ACCUMULATOR = 1 << 30
# And up to this shift z·2^(31+e) < 2^60 can be added to p.
_MAX_FOLDED_SHIFT = 21
_HALF_LANES = 8

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Requantization:
    """How accumulators become outputs.

    Attributes:
        kind: A key of the table of sequences.
        has_zero_shift: Whether a channel is shifted by nothing but the multiplier's 31 bits.
        folds_zero_point: Whether the zero point is part of the 64-bit addend.
    """

    kind: str
    has_zero_shift: bool = False
    folds_zero_point: bool = False


def choose_requantization(spec: ConvSpec, shift: Array, accumulator_bound: int) -> Requantization:
    """Choose the cheapest exact sequence.

    Args:
        spec: The convolution.
        shift: int32 [out_channels]; positive to the left.
        accumulator_bound: No accumulator is further from zero.
    """
    if spec.out_dtype == "int32":
        return Requantization("none")
    low, high = int((-shift).min()), int((-shift).max())
    if low < 0 or accumulator_bound >= _MAX_FAST_ACCUMULATOR:
        return Requantization("general")
    has_one_floor = spec.rounding == "upward" or spec.out_min >= spec.output_zero_point
    kind = "one_floor" if has_one_floor else "two_floors"
    return Requantization(kind, low == 0, high <= _MAX_FOLDED_SHIFT)


def constant_rows(requantization: Requantization) -> tuple[tuple[str, int], ...]:
    """Tell dtype and number of rows of the arrays of ``requantization_constants``.

    A row is one vector register: 16 lanes of int32, 8 of int64.
    """
    rows: dict[str, tuple[tuple[str, int], ...]] = {
        "none": (),
        "one_floor": (("int64", 6),),
        "two_floors": (("int64", 4), ("int32", 2 if requantization.has_zero_shift else 1)),
        "general": (("int32", 1), ("int32", 1)),
    }
    return rows[requantization.kind]


def requantization_constants(
    spec: ConvSpec, requantization: Requantization, multiplier: Array, shift: Array
) -> tuple[Array, ...]:
    """Compute what the sequence reads for each lane.

    Args:
        spec: The convolution.
        requantization: The sequence.
        multiplier: int32 [vectors, 16], in the order of the lanes.
        shift: int32 [vectors, 16].

    Returns:
        Arrays of the dtypes and shapes that ``constant_rows`` tells: [vectors, rows, lanes].
    """
    if requantization.kind == "none":
        return ()
    if requantization.kind == "general":
        return multiplier[:, None], shift[:, None]
    q, e = multiplier.astype(np.int64), -shift.astype(np.int64)
    if spec.rounding == "upward":
        addend = np.int64(1) << (30 + e)
    else:
        addend = (1 << 30) + np.where(e > 0, np.int64(1) << (30 + e), 0)
    if requantization.folds_zero_point:
        addend = addend + (np.int64(spec.output_zero_point) << (31 + e))
    if requantization.kind == "two_floors":
        tail = [np.where(e > 0, -1, 0)] if requantization.has_zero_shift else []
        return (
            _even_and_odd(q, addend),
            np.stack([e, *tail], axis=1).astype(np.int32),
        )
    odd_shift = e if requantization.has_zero_shift else e - 1
    return (_even_and_odd(q, addend, (e + 31, odd_shift)),)


def _even_and_odd(*values: Array | tuple[Array, Array]) -> Array:
    """Split each [vectors, 16] into even and odd lanes: [vectors, 2 · values, 8]."""
    pairs = [value if isinstance(value, tuple) else (value, value) for value in values]
    rows = [half for even, odd in pairs for half in (even[:, 0::2], odd[:, 1::2])]
    return np.stack(rows, axis=1).astype(np.int64)


def requantize(spec: ConvSpec, requantization: Requantization, x: Any, constants: list[Any]) -> Any:
    """Build the expression that rescales one vector.

    Args:
        spec: The convolution.
        requantization: The sequence.
        x: int32x16, the accumulators.
        constants: A function from row to vector for each array of
            ``requantization_constants``.

    Returns:
        int32x16, the outputs before the clamp; for ``general``, after the clamp.
    """
    return _SEQUENCES[requantization.kind](spec, requantization, x, constants)


def _one_floor(spec: ConvSpec, requantization: Requantization, x: Any, constants: list[Any]) -> Any:
    (table,) = constants
    even, odd = _products(x, table)
    if requantization.has_zero_shift:
        odd = odd + odd
    scaled = _join(T.shift_right(even, table(4)), T.shift_right(odd, table(5)))
    return _add_zero_point(spec, requantization, scaled)


def _two_floors(
    spec: ConvSpec, requantization: Requantization, x: Any, constants: list[Any]
) -> Any:
    table, shifts = constants
    even, odd = _products(x, table)
    rounded = _join(T.shift_right(even, _splat64(31)), odd + odd)
    sign = T.shift_right(x, T.broadcast(T.int32(31), 16))
    if requantization.has_zero_shift:
        sign = T.bitwise_and(sign, shifts(1))
    return _add_zero_point(spec, requantization, T.shift_right(rounded + sign, shifts(0)))


def _add_zero_point(spec: ConvSpec, requantization: Requantization, scaled: Any) -> Any:
    if requantization.folds_zero_point:
        return scaled
    return scaled + T.broadcast(T.int32(spec.output_zero_point), 16)


def _products(x: Any, table: Any) -> tuple[Any, Any]:
    """Compute x · q + addend for the even and for the odd lanes, int64x8."""
    pairs = T.reinterpret("int64x8", x)
    low = T.shift_left(pairs, _splat64(32))
    even = T.shift_right(low, _splat64(32)) * _sign_extended(table(0)) + table(2)
    odd = T.shift_right(pairs, _splat64(32)) * _sign_extended(table(1)) + table(3)
    return even, odd


def _sign_extended(pairs: Any) -> Any:
    """Say that only the lower halves count, so that the product becomes vpmuldq."""
    return T.shift_right(T.shift_left(pairs, _splat64(32)), _splat64(32))


def _join(even: Any, odd: Any) -> Any:
    """Take the lower halves of ``even`` and the upper halves of ``odd``."""
    lower, upper = _splat64(0xFFFFFFFF), _splat64(-(1 << 32))
    return T.reinterpret(
        "int32x16", T.bitwise_or(T.bitwise_and(even, lower), T.bitwise_and(odd, upper))
    )


def _splat64(value: int) -> Any:
    return T.broadcast(T.int64(value), _HALF_LANES)


def _general(spec: ConvSpec, requantization: Requantization, x: Any, constants: list[Any]) -> Any:
    """Any shift, step by step in 64-bit lanes; what leaves 32 bits wraps, as in the reference."""

    def splat(value: int) -> Any:
        return T.broadcast(T.int64(value), 16)

    def wide(value: Any) -> Any:
        return T.Cast("int64x16", value)

    multiplier, shift = (array(0) for array in constants)
    q, s = wide(multiplier), wide(shift)
    if spec.rounding == "upward":
        down = splat(31) - s
        once = T.shift_right(wide(x) * q + T.shift_left(splat(1), down - splat(1)), down)
        scaled = wide(T.Cast("int32x16", once))
    else:
        left = T.Cast("int32x16", T.max(s, splat(0)))
        e = T.max(-s, splat(0))
        h = T.shift_right(wide(T.shift_left(x, left)) * q + splat(1 << 30), splat(31))
        half = T.shift_right(T.shift_left(splat(1), e), splat(1))
        away = T.bitwise_and(T.shift_right(h, splat(63)), -T.min(e, splat(1)))
        scaled = T.shift_right(h + half + away, e)
    y = scaled + splat(spec.output_zero_point)
    return T.Cast("int32x16", T.max(T.min(y, splat(spec.out_max)), splat(spec.out_min)))


def _none(spec: ConvSpec, requantization: Requantization, x: Any, constants: list[Any]) -> Any:
    return x


_SEQUENCES = {
    "none": _none,
    "one_floor": _one_floor,
    "two_floors": _two_floors,
    "general": _general,
}
