"""Squares of the differences of two tensors of bytes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from tvm import tirx
from tvm.script.ir_builder import tirx as T

from legalize.kernels.elementwise.float_steps import FloatSteps, stepped
from legalize.kernels.elementwise.pairs import Shape, pairwise
from legalize.kernels.ir.fixed_point import rescaled
from legalize.kernels.ir.registers import kept, lanes_in
from legalize.kernels.ir.types import Vector
from legalize.kernels.ir.vectors import clamped, splat
from legalize.kernels.isa.base import VectorIsa
from qnn_ops.quantized_binary import SQUARE_SHIFT

# Roughly what one thread computes.
_BYTES_PER_MICROSECOND = 4_000
_HALF = 1 << 30, 0  # the multiplier of the operand of the larger scale


@dataclass(frozen=True)
class Squares:
    """The arithmetic of a squared difference.

    Attributes:
        zero_points: of lhs, rhs and the output, as steps from their lowest values.
        multipliers: of lhs, rhs and the square, each with its shift.
        steps: of the square, in float32, where they are exact.
    """

    zero_points: tuple[int, int, int]
    multipliers: tuple[tuple[int, int], tuple[int, int], tuple[int, int]]
    steps: FloatSteps | None


@cache
def squared_difference(
    isa: VectorIsa,
    shapes: tuple[Shape, Shape],
    squares: Squares,
    dtypes: tuple[str, str, str],
    bounds: tuple[int, int],
) -> tirx.PrimFunc:
    """Build the function that squares the difference of two tensors.

    Args:
        isa: the instruction set.
        shapes: of the tensors; they broadcast, and nothing is empty.
        squares: the arithmetic.
        dtypes: int8 or uint8 each: of lhs, of rhs and of the output.
        bounds: the lowest and highest output, as steps from the dtype's lowest value.

    Returns:
        A function of lhs, rhs and the output.
    """

    def common(value: Vector, which: int) -> Vector:
        lanes = lanes_in(value)
        steps = value - splat("int32", squares.zero_points[which], lanes)
        multiplier = squares.multipliers[which]
        if multiplier == _HALF:
            return T.shift_left(steps, splat("int32", SQUARE_SHIFT - 1, lanes))
        return rescaled(T.shift_left(steps, splat("int32", SQUARE_SHIFT, lanes)), *multiplier)

    def squared(lhs: Vector, rhs: Vector) -> Vector:
        difference = kept(common(lhs, 0) - common(rhs, 1))
        square = difference * difference
        if squares.steps is not None:
            return stepped(squares.steps, square)
        result = rescaled(square, *squares.multipliers[2])
        return result + splat("int32", squares.zero_points[2], lanes_in(lhs))

    def combine(lhs: Vector, rhs: Vector) -> Vector:
        quarters = zip(isa.widen_all(lhs), isa.widen_all(rhs), strict=True)
        return clamped(isa.narrow_all([squared(*quarter) for quarter in quarters]), *bounds)

    return pairwise(isa, "squared_difference", shapes, dtypes, _BYTES_PER_MICROSECOND, combine)
