"""Requantization in fixed point.

With p = x·q, the 64-bit product of accumulator and multiplier, e the right shift, z the zero
point and h = (p + 2^30) >> 31:

* ``upward`` rounding is (p + 2^(30+e)) >> (31+e);
* ``tflite`` rounding is (h + 2^(e-1) - [h < 0]) >> e for e > 0, and h for e = 0.

A floor of a floor is one floor. So both are (((p + c) >> 31) - [h < 0]) >> e, with the last term
only for ``tflite``. The constant c of a channel contains all addends, including z·2^(31+e). The
inner shift costs nothing: it takes the upper half of 2p + 2c. Without the term, and if no e is 0,
there is one shift: the upper half of p + c, and e − 1.

The last term lowers no result above zero. So it is left out if the clamp begins at the zero
point, as after a ReLU ("one_floor"; otherwise "two_floors"). It may test h < 0 or x < 0, as these
differ only for h = 0, where the result is 0.

vpmuldq multiplies even and odd lanes separately.
"""

from dataclasses import dataclass

import numpy as np
from tvm.script.ir_builder import tirx as T

from legalize.kernels.conv2d.constants import deal
from legalize.kernels.conv2d.spec import OutputStage
from legalize.kernels.conv2d.x86.epilogue.base import Chosen, Epilogue, Scales
from legalize.kernels.ir.vectors import Array, Vector, lanes_in

# With accumulators below this, 2x fits its lane, |2p| < 2^62 and |h| < 2^30.
_MAX_FAST_ACCUMULATOR = 1 << 30
# Up to this shift z·2^(32+e) < 2^61 can be added to 2p, and z·2^e to h.
_MAX_FOLDED_SHIFT = 21


@dataclass(frozen=True)
class Sums(Epilogue):
    """The accumulators themselves."""

    @classmethod
    def choose(cls, output: OutputStage, scales: Scales, lanes: Array) -> Chosen | None:
        """Serve results of int32."""
        return Chosen(cls()) if output.dtype == "int32" else None

    def emit(self, x: Vector, rows: list[Vector], addend: Vector = None) -> Vector:
        """Return the accumulators unchanged."""
        return x


@dataclass(frozen=True)
class FixedPoint(Epilogue):
    """One shift of a 64-bit product, or two.

    Attributes:
        zero_point: added at the end; None if it is part of the 64-bit addend.
        has_two_floors: whether the last term is subtracted.
        has_zero_shift: whether a channel with the last term has e = 0.
        is_doubled: whether it takes the upper half of 2p, not of p.
    """

    zero_point: int | None
    has_two_floors: bool
    has_zero_shift: bool
    is_doubled: bool

    @classmethod
    def choose(cls, output: OutputStage, scales: Scales, lanes: Array) -> Chosen | None:
        """Serve accumulators that leave some bits free, and shifts to the right."""
        low, high = int((-scales.shift).min()), int((-scales.shift).max())
        if low < 0 or scales.bound >= _MAX_FAST_ACCUMULATOR:
            return None
        zero_point = None if high <= _MAX_FOLDED_SHIFT else output.zero_point
        has_two = output.has_two_floors
        epilogue = cls(zero_point, has_two, has_two and low == 0, has_two or low == 0)
        multiplier, shift = deal(scales.multiplier, lanes), scales.shift
        return Chosen(epilogue, epilogue._arrays(output, multiplier, deal(shift, lanes, shift[0])))

    def _arrays(self, output: OutputStage, multiplier: Array, shift: Array) -> tuple[Array, ...]:
        """Return multipliers and addends of even and odd lanes; and shifts."""
        q, e = multiplier.astype(np.int64), -shift.astype(np.int64)
        half = np.int64(1) << (30 + e)
        if output.rounding == "tflite":
            half = (1 << 30) + np.where(e > 0, half, 0)
        addend = half
        if self.zero_point is None:
            addend += np.int64(output.zero_point) << (31 + e)
        if self.is_doubled:
            addend = 2 * addend
        else:
            e = e - 1
        # Even and odd lanes separately: [vectors, 4, lanes / 2].
        products = np.stack([q[:, 0::2], q[:, 1::2], addend[:, 0::2], addend[:, 1::2]], axis=1)
        rows = [e, np.where(e > 0, -1, 0)] if self.has_zero_shift else [e]
        return products, np.stack(rows, axis=1).astype(np.int32)

    def emit(self, x: Vector, rows: list[Vector], addend: Vector = None) -> Vector:
        """Multiply as vpmuldq does, and shift."""
        products, shifts = rows
        lanes = range(lanes_in(x))
        factor = x + x if self.is_doubled else x
        # Shuffles, as shifts would wait for the port of multiplications.
        odd_lanes = T.Shuffle([factor], [lane | 1 for lane in lanes])
        even = _product(factor, products(0)) + products(2)
        odd = _product(odd_lanes, products(1)) + products(3)
        halves = [T.reinterpret(f"int32x{len(lanes)}", half) for half in (even, odd)]
        upper = T.Shuffle(halves, [lane + (len(lanes) if lane % 2 else 1) for lane in lanes])
        if self.has_two_floors:
            sign = T.shift_right(x, T.broadcast(T.int32(31), len(lanes)))
            if self.has_zero_shift:
                sign = T.bitwise_and(sign, shifts(1))
            upper = upper + sign
        scaled = T.shift_right(upper, shifts(0))
        if self.zero_point is None:
            return scaled
        return scaled + T.broadcast(T.int32(self.zero_point), len(lanes))


def _product(x: Vector, multiplier: Vector) -> Vector:
    """Multiply the even lanes of an int32 vector and an int64 vector (vpmuldq)."""
    pairs = T.reinterpret(f"int64x{lanes_in(multiplier)}", x)
    return _sign_extended(pairs) * _sign_extended(multiplier)


def _sign_extended(pairs: Vector) -> Vector:
    """Sign-extend the lower halves, so that LLVM knows that only these count."""
    shift = T.broadcast(T.int64(32), lanes_in(pairs))
    return T.shift_right(T.shift_left(pairs, shift), shift)


@dataclass(frozen=True)
class General(Epilogue):
    """Any shift, step by step in 64-bit lanes; results beyond 32 bits wrap, as in the reference.

    Attributes:
        output: dtype, zero point, bounds and rounding of the outputs.
    """

    output: OutputStage

    @classmethod
    def choose(cls, output: OutputStage, scales: Scales, lanes: Array) -> Chosen:
        """Serve any multipliers and shifts."""
        multiplier, shift = deal(scales.multiplier, lanes), scales.shift
        arrays = multiplier[:, None], deal(shift, lanes, shift[0])[:, None]
        return Chosen(cls(output), arrays)

    def emit(self, x: Vector, rows: list[Vector], addend: Vector = None) -> Vector:
        """Return the outputs, after the clamp."""
        lanes = lanes_in(x)
        narrow = f"int32x{lanes}"

        def splat(value: int) -> Vector:
            return T.broadcast(T.int64(value), lanes)

        def wide(value: Vector) -> Vector:
            return T.Cast(f"int64x{lanes}", value)

        multiplier, shift = (array(0) for array in rows)
        q, s = wide(multiplier), wide(shift)
        if self.output.rounding == "upward":
            down = splat(31) - s
            once = T.shift_right(wide(x) * q + T.shift_left(splat(1), down - splat(1)), down)
            scaled = wide(T.Cast(narrow, once))
        else:
            left = T.Cast(narrow, T.max(s, splat(0)))
            e = T.max(-s, splat(0))
            h = T.shift_right(wide(T.shift_left(x, left)) * q + splat(1 << 30), splat(31))
            half = T.shift_right(T.shift_left(splat(1), e), splat(1))
            away = T.bitwise_and(T.shift_right(h, splat(63)), -T.min(e, splat(1)))
            scaled = T.shift_right(h + half + away, e)
        y = scaled + splat(self.output.zero_point)
        return T.Cast(narrow, T.max(T.min(y, splat(self.output.high)), splat(self.output.low)))
