"""Products of two tensors of bytes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from tvm import tirx

from legalize.kernels.elementwise.float_steps import FloatSteps, stepped
from legalize.kernels.elementwise.pairs import Shape, pairwise
from legalize.kernels.ir.fixed_point import rescaled
from legalize.kernels.ir.registers import lanes_in
from legalize.kernels.ir.types import Vector
from legalize.kernels.ir.vectors import clamped, splat
from legalize.kernels.isa.base import VectorIsa

# Roughly what one thread multiplies.
_BYTES_PER_MICROSECOND = 8_000


@dataclass(frozen=True)
class Rescaling:
    """The rescaling of products to outputs.

    Attributes:
        steps: in float32, where it is exact.
        multiplier: else in fixed point.
        shift: likewise.
        zero_point: the output's, as steps from its lowest value.
    """

    steps: FloatSteps | None
    multiplier: int
    shift: int
    zero_point: int


@cache
def multiply(
    isa: VectorIsa,
    shapes: tuple[Shape, Shape],
    zero_points: tuple[int, int],
    rescaling: Rescaling,
    dtypes: tuple[str, str, str],
    bounds: tuple[int, int],
) -> tirx.PrimFunc:
    """Build the function that multiplies two tensors.

    Args:
        isa: the instruction set.
        shapes: of the tensors; they broadcast, and nothing is empty.
        zero_points: of lhs and rhs, as steps from their lowest values.
        rescaling: of the products.
        dtypes: int8 or uint8 each: of lhs, of rhs and of the output.
        bounds: the lowest and highest output, as steps from the dtype's lowest value.

    Returns:
        A function of lhs, rhs and the output.
    """

    def centred(value: Vector, zero_point: int) -> list[Vector]:
        return [half - splat("int16", zero_point, lanes_in(half)) for half in isa.widen(value)]

    def rescale(product: Vector) -> Vector:
        if rescaling.steps is not None:
            return stepped(rescaling.steps, product)
        value = rescaled(product, rescaling.multiplier, rescaling.shift)
        return value + splat("int32", rescaling.zero_point, lanes_in(product))

    def combine(lhs: Vector, rhs: Vector) -> Vector:
        halves = zip(centred(lhs, zero_points[0]), centred(rhs, zero_points[1]), strict=True)
        products = [product for half in halves for product in isa.products(*half)]
        return clamped(isa.narrow_all([rescale(product) for product in products]), *bounds)

    return pairwise(isa, "multiply", shapes, dtypes, _BYTES_PER_MICROSECOND, combine)
