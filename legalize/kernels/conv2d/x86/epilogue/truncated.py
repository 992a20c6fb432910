"""Requantization by float32 steps, if they give the same integers: a floor, or truncation.

One rounding: the sequence is floor(x·s + c), x: accumulator + offset. The offset is part of the
bias. It contains the zero point and the half that makes a floor round, except for a rest c < s. The
sum is rounded down, which changes no floor.

TFLite's two roundings are symmetric around zero, except for ties of the first one. So the sequence
is trunc(x·s ± h) plus the zero point: x is the accumulator, and h has the sign of x. Its size is a
half plus what the first rounding adds. The sum is rounded towards zero, which changes nothing.

Both sequences are as exact as the slope s; see steps.py.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from tvm.script.ir_builder import tirx as T

from legalize.kernels.conv2d.constants import deal
from legalize.kernels.conv2d.spec import OutputStage
from legalize.kernels.conv2d.x86.epilogue.base import Chosen, Epilogue, Scales
from legalize.kernels.conv2d.x86.epilogue.steps import fits, line_through, steps_of
from legalize.kernels.ir.vectors import Array, Vector, lanes_in, splat
from legalize.kernels.isa.x86_instructions import floor_of_product, truncated_product

_LANES = 16


@dataclass(frozen=True)
class Floor(Epilogue):
    """The floor, by rows of s and c."""

    takes_factor: ClassVar[bool] = True

    @classmethod
    def choose(cls, output: OutputStage, scales: Scales, lanes: Array) -> Chosen | None:
        """Serve vectors of AVX512, if there is a proof."""
        # Only AVX512 can round down by an instruction, not by the processor's state.
        steps = steps_of(output, scales)
        if steps is None or lanes.shape[1] != _LANES:
            return None
        is_dead = steps.scale == 0
        offset = (output.zero_point + 0.5) / np.where(is_dead, np.inf, steps.scale)
        offset = np.rint(offset)
        if not fits(scales, offset):
            return None
        offset = offset.astype(np.int64)
        ends = ((offset + sign * scales.bounds)[:, None] for sign in (-1, 1))
        first = steps.first + offset[:, None]
        line = line_through(steps.scale, first, steps.outputs, *ends, factor=scales.factor)
        if line is None:
            return None
        rows = [deal(row, lanes) for row in (line.scale, line.addend)]
        return Chosen(cls(factor=scales.factor), (np.stack(rows, axis=1),), offset.astype(np.int32))

    def emit(self, x: Vector, rows: list[Vector], addend: Vector = None) -> Vector:
        """Return the floor of one fused multiply-add."""
        return floor_of_product(T.Cast(f"float32x{_LANES}", x), rows[0](0), rows[0](1))


_SIGN = -(1 << 31)


@dataclass(frozen=True)
class Truncated(Epilogue):
    """The truncation, by rows of s and h; it leaves the zero point to others."""

    takes_factor: ClassVar[bool] = True

    @classmethod
    def choose(cls, output: OutputStage, scales: Scales, lanes: Array) -> Chosen | None:
        """Serve vectors of AVX512 and rounding "tflite", if there is a proof."""
        steps = steps_of(output, scales)
        if steps is None or lanes.shape[1] != _LANES:
            return None
        if not fits(scales, np.zeros(1)):
            return None
        # Steps count away from zero. A step to the zero point or below it is mirrored: it belongs
        # to the accumulator before its own.
        k = steps.outputs - output.zero_point
        first = np.where(k > 0, steps.first, 1 - steps.first)
        bounds = np.reshape(scales.bounds, (-1, 1))
        limits = np.where(k > 0, k, 1 - k)
        line = line_through(steps.scale, first, limits, 0 * bounds, bounds, factor=scales.factor)
        if line is None or line.addend.min() < 0:
            return None
        table = np.stack([deal(row, lanes) for row in (line.scale, line.addend)], axis=1)
        epilogue = cls(factor=scales.factor, zero_point_left=output.zero_point)
        return Chosen(epilogue, (table,))

    def emit(self, x: Vector, rows: list[Vector], addend: Vector = None) -> Vector:
        """Return the truncated sum."""
        lanes = lanes_in(x)
        whole, real = f"int32x{lanes}", f"float32x{lanes}"
        value = T.Cast(f"float32x{_LANES}", x)
        sign = T.bitwise_and(T.reinterpret(whole, value), splat("int32", _SIGN, lanes))
        half = T.bitwise_or(sign, T.reinterpret(whole, rows[0](1)))
        return truncated_product(value, rows[0](0), T.reinterpret(real, half))
