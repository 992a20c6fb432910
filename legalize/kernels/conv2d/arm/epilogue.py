"""Turns int32 accumulators into quantized outputs, and stores them: the end of ARM kernels.

NEON's instructions are gemmlowp's arithmetic except for one detail. With accumulator x,
multiplier q and right shift e:

* sqrdmulh gives h = (x·q + 2^30) >> 31, which is gemmlowp's doubling high multiply (its one
  saturating case takes a negative q). sqdmulh gives (x·q) >> 31.
* srshl and sqrshrn shift right and round half up: (h + 2^(e−1)) >> e.

``tflite`` rounding is sqrdmulh and a shift that rounds half away from zero: (h + 2^(e−1) −
[h < 0]) >> e for e > 0. So the sign of h is added before the shift. This lowers no result above
zero, so it is left out if the clamp begins at the zero point, as after a ReLU.

``upward`` rounding, (x·q + 2^(30+e)) >> (31+e), is sqdmulh and srshl for e > 0, as a floor of a
floor is one floor.

``float32`` and ``float64`` convert, multiply, and round as fcvtns and fcvtas do: half to even and
half away from zero, saturating.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import NamedTuple

import numpy as np
from tvm.script.ir_builder import tirx as T

from legalize.kernels.conv2d.spec import ConvSpec, OutputStage
from legalize.kernels.ir.rows import ramp, store_lanes
from legalize.kernels.ir.tables import Table, Tables
from legalize.kernels.ir.vectors import (
    Array,
    Buffer,
    Index,
    Vector,
    kept,
    lanes_in,
    store_pieces,
)
from legalize.kernels.isa.arm import Isa
from legalize.kernels.isa.neon import LANES, Neon, add_saturating, half, joined
from qnn_ops.arithmetic.fixed_point import quantize_multiplier

# The largest shift of sqrshrn.
_NARROWING_SHIFTS = range(1, 17)


def can_requantize(isa: Isa, rounding: str, real_multiplier: Array) -> bool:
    """Tell whether a sequence computes this rounding with these multipliers."""
    if rounding == "tflite":
        return True
    if rounding == "upward":
        multiplier, shift = quantize_multiplier(real_multiplier)
        return bool(((shift < 0) | (multiplier == 0)).all())
    # ARMv7 has neither vectors of float64 nor conversions that round to nearest.
    return not isa.neon.is_armv7


class Chosen(NamedTuple):
    """An epilogue that is exact for a convolution.

    Attributes:
        epilogue: the sequence.
        rows: its constants, [out_channels] each.
    """

    epilogue: Epilogue
    rows: tuple[Array, ...] = ()


@dataclass(frozen=True)
class Epilogue(ABC):
    """A sequence of instructions from accumulators to outputs.

    Attributes:
        constants: the dtype of each row.
    """

    _: KW_ONLY
    constants: tuple[str, ...] = field(default=(), compare=False)

    @classmethod
    @abstractmethod
    def choose(cls, output: OutputStage, multiplier: Array, shift: Array) -> Chosen | None:
        """Make the constants of this sequence, [out_channels]; None if it is not exact."""

    @property
    def narrowing_shift(self) -> int:
        """The right shift that is part of narrowing."""
        return 0

    def declare(self, tables: Tables, vectors: int) -> list[Table]:
        """Declare a parameter for each row of constants."""
        return [
            tables.parameter(f"rescale_{number}", (vectors, LANES), dtype)
            for number, dtype in enumerate(self.constants)
        ]

    @abstractmethod
    def emit(self, neon: Neon, x: Vector, rows: list[Vector]) -> Vector:
        """Build the expression that rescales one vector.

        Args:
            neon: the instructions.
            x: int32x4, the accumulators.
            rows: the vectors of the constants' rows.

        Returns:
            int32x4, before the zero point is added, and before the shift of narrowing.
        """


@dataclass(frozen=True)
class Sums(Epilogue):
    """The accumulators themselves."""

    @classmethod
    def choose(cls, output: OutputStage, multiplier: Array, shift: Array) -> Chosen | None:
        """Serve results of int32."""
        return Chosen(cls()) if output.dtype == "int32" else None

    def emit(self, neon: Neon, x: Vector, rows: list[Vector]) -> Vector:
        """Return the accumulators unchanged."""
        return x


@dataclass(frozen=True)
class Float(Epilogue):
    """A product of floats, rounded.

    Attributes:
        dtype: ``float32`` or ``float64``.
    """

    dtype: str

    @classmethod
    def choose(cls, output: OutputStage, multiplier: Array, shift: Array) -> Chosen | None:
        """Serve roundings of floats."""
        if output.rule.most_shift is not None:
            return None
        return Chosen(cls(output.rule.dtype), (multiplier.astype(output.rule.dtype),))

    def emit(self, neon: Neon, x: Vector, rows: list[Vector]) -> Vector:
        """Round products by fcvtns or fcvtas."""
        if self.dtype == "float32":
            product = T.Cast("float32x4", x) * rows[0]
            name = "llvm.aarch64.neon.fcvtns.v4i32.v4f32"
            return T.call_llvm_pure_intrin("int32x4", name, product)
        halves = []
        for number in range(2):
            product = T.Cast("float64x2", half(x, number)) * half(rows[0], number)
            name = "llvm.aarch64.neon.fcvtas.v2i64.v2f64"
            rounded = T.call_llvm_pure_intrin("int64x2", name, product)
            name = "llvm.aarch64.neon.sqxtn.v2i32"
            halves.append(T.call_llvm_pure_intrin("int32x2", name, rounded))
        return joined(*halves)


@dataclass(frozen=True)
class FixedPoint(Epilogue):
    """Sqrdmulh or sqdmulh, and shifts.

    Attributes:
        is_rounded_twice: whether the product is rounded before the shift.
        has_right_shifts: whether channels are shifted to the right by constants of their own.
        has_left_shifts: whether any channel is first shifted to the left.
        away: the channels that add the sign: "none", "some" or "all".
        narrowing_shift: the right shift, if narrowing can do it for all channels.
    """

    is_rounded_twice: bool
    has_right_shifts: bool
    has_left_shifts: bool
    away: str
    narrowing_shift: int = 0

    @classmethod
    def choose(cls, output: OutputStage, multiplier: Array, shift: Array) -> Chosen:
        """Serve all roundings that ``can_requantize``.

        The rows are multipliers; shifts to the right, as negative numbers; shifts to the left.
        """
        # A multiplier of zero gives zero with any shift.
        shift = np.where(multiplier == 0, shift.min(), shift)
        left, right = np.maximum(shift, 0), np.maximum(-shift, 0)
        needs_sign = output.has_two_floors and right.any()
        away = ("all" if right.all() else "some") if needs_sign else "none"
        narrowing = int(right[0]) if np.ptp(right) == 0 and right[0] in _NARROWING_SHIFTS else 0
        has_right = not narrowing and bool(right.any())
        epilogue = cls(output.rounding == "tflite", has_right, bool(left.any()), away, narrowing)
        rows = [multiplier, *([-right] if has_right else []), *([left] if left.any() else [])]
        return Chosen(epilogue, tuple(row.astype("int32") for row in rows))

    def emit(self, neon: Neon, x: Vector, rows: list[Vector]) -> Vector:
        """Shift, multiply, add the sign, shift."""
        multiplier, *shifts = rows
        if self.has_left_shifts:
            x = neon.words("sshl", x, shifts.pop())
        h = neon.words("sqrdmulh" if self.is_rounded_twice else "sqdmulh", x, multiplier)
        if self.away != "none":
            h = kept(h)
            # Shifts to the right are negative, so their signs mask the channels that have one.
            signs = T.bitwise_and(h, shifts[0]) if self.away == "some" else h
            h = h + T.shift_right(signs, T.broadcast(T.int32(31), LANES))
        return neon.words("srshl", h, shifts[0]) if shifts else h


EPILOGUES: tuple[type[Epilogue], ...] = (Sums, Float, FixedPoint)
"""All epilogues, the cheapest first."""


def choose_epilogue(output: OutputStage, multiplier: Array, shift: Array) -> Chosen:
    """Choose the cheapest exact sequence; the arguments are those of ``Epilogue.choose``."""
    every = (each.choose(output, multiplier, shift) for each in EPILOGUES)
    epilogue, rows = next(chosen for chosen in every if chosen is not None)
    return Chosen(replace(epilogue, constants=tuple(str(row.dtype) for row in rows)), rows)


def store_channels(
    spec: ConvSpec,
    neon: Neon,
    target: Buffer,  # [pixels · channels]
    start: Index,
    vectors: list[Vector],
    channels: int,
    shift: int,
) -> None:
    """Store neighbouring channels of one pixel.

    Args:
        spec: the convolution.
        neon: the instructions.
        target: the output as one row.
        start: the offset of the first channel.
        vectors: int32x4 expressions.
        channels: the number of real channels; nothing is written past them.
        shift: the shift of narrowing.
    """
    for first, size in store_pieces(len(vectors)):
        offset = first * LANES
        if channels <= offset:
            return
        pieces = vectors[first : first + size]
        values = (
            pieces if spec.output.dtype == "int32" else [narrow(spec.output, neon, pieces, shift)]
        )
        for value in values:
            lanes = lanes_in(value)
            if channels - offset < lanes:
                store_lanes(target, value, 0, start + offset, channels - offset)
            else:
                T.buffer_store(target, value, [ramp(start + offset, lanes)])
            offset += lanes


def narrow(output: OutputStage, neon: Neon, vectors: list[Vector], shift: int) -> Vector:
    """Narrow one, two or four vectors to clamped outputs; one is repeated to eight lanes."""
    words = [neon.narrow_words(vector, shift) for vector in vectors]
    words = [joined(*(words[i : i + 2] * 2)[:2]) for i in range(0, len(words), 2)]
    if output.zero_point:
        words = [add_saturating(word, output.zero_point) for word in words]
    parts = [neon.narrow(word, output.dtype) for word in words]
    value = output.clamped(parts[0] if len(parts) == 1 else joined(*parts))
    return value if len(vectors) > 1 else T.Shuffle([value], list(range(LANES)))
