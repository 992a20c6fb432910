"""Products of two tensors of bytes, and squares of their differences."""

from dataclasses import dataclass

from tvm.script.ir_builder import tirx as T

from legalize.kernels.elementwise.float_steps import FloatSteps, stepped
from legalize.kernels.ir.arithmetic import rescaled, round_half_even
from legalize.kernels.ir.vectors import Vector, kept, lanes_in, splat
from legalize.kernels.isa.base import VectorIsa
from qnn_ops.quantized.binary import SQUARE_SHIFT

_HALF = 1 << 30, 0  # the multiplier of the operand with the larger scale
# Larger products saturate any result.
_LARGEST = 4096.0


@dataclass(frozen=True)
class Rescaling:
    """The rescaling of products, or of squares, to outputs.

    Attributes:
        steps: the rescaling in float32, if it is exact.
        multiplier: otherwise the multiplier in fixed point.
        shift: otherwise the multiplier's shift.
        zero_point: the output's, as steps from its lowest value.
    """

    steps: FloatSteps | None
    multiplier: int
    shift: int
    zero_point: int

    def write(self, product: Vector) -> Vector:
        """Rescale a vector of products, int32."""
        if self.steps is not None:
            return stepped(self.steps, product)
        value = rescaled(product, self.multiplier, self.shift)
        return value + splat("int32", self.zero_point, lanes_in(product))


@dataclass(frozen=True)
class Rounding:
    """The rescaling of products as ONNX Runtime does it, in float32, rounded half to even.

    Attributes:
        factor: a float32.
        zero_point: the output's, in the model's own dtype, added before the rounding.
        lowest: that dtype's lowest value.
    """

    factor: float
    zero_point: int
    lowest: int

    def write(self, product: Vector) -> Vector:
        """Rescale a vector of products, int32."""
        lanes = lanes_in(product)
        scaled = T.Cast(f"float32x{lanes}", product) * splat("float32", self.factor, lanes)
        # No compiler fuses this product with a sum: the bounds are between them.
        low, high = (splat("float32", end, lanes) for end in (-_LARGEST, _LARGEST))
        bounded = T.max(T.min(scaled, high), low)
        whole = round_half_even(bounded + splat("float32", self.zero_point, lanes))
        return whole - splat("int32", self.lowest, lanes)


@dataclass(frozen=True)
class Products:
    """The arithmetic of a product.

    Attributes:
        zero_points: zero points of lhs and rhs, as steps from their lowest values.
        rescaling: the rescaling of the products.
    """

    zero_points: tuple[int, int]
    rescaling: Rescaling | Rounding

    def quarters(self, isa: VectorIsa, lhs: Vector, rhs: Vector) -> list[Vector]:
        """Return the products of two vectors of bytes: see ``pairs.Form``."""
        left, right = (
            [half - splat("int16", zero_point, lanes_in(half)) for half in isa.widen(value)]
            for value, zero_point in zip((lhs, rhs), self.zero_points, strict=True)
        )
        halves = zip(left, right, strict=True)
        products = [product for half in halves for product in isa.products(*half)]
        return [self.rescaling.write(product) for product in products]


@dataclass(frozen=True)
class Squares:
    """The arithmetic of a squared difference.

    Attributes:
        zero_points: zero points of lhs and rhs, as steps from their lowest values.
        multipliers: multipliers of lhs and rhs, each with its shift.
        rescaling: the rescaling of the squares.
    """

    zero_points: tuple[int, int]
    multipliers: tuple[tuple[int, int], tuple[int, int]]
    rescaling: Rescaling

    def quarters(self, isa: VectorIsa, lhs: Vector, rhs: Vector) -> list[Vector]:
        """Return the squares of two vectors of bytes: see ``pairs.Form``."""
        squares = []
        for pair in zip(isa.widen_all(lhs), isa.widen_all(rhs), strict=True):
            left, right = map(_common, pair, self.zero_points, self.multipliers)
            difference = kept(left - right)
            squares.append(self.rescaling.write(difference * difference))
        return squares


def _common(value: Vector, zero_point: int, multiplier: tuple[int, int]) -> Vector:
    """Return an operand on the scale that both have in common."""
    lanes = lanes_in(value)
    steps = value - splat("int32", zero_point, lanes)
    if multiplier == _HALF:
        return T.shift_left(steps, splat("int32", SQUARE_SHIFT - 1, lanes))
    return rescaled(T.shift_left(steps, splat("int32", SQUARE_SHIFT, lanes)), *multiplier)
