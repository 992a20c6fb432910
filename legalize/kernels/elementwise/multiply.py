"""Products of two tensors of bytes, and squares of their differences."""

from dataclasses import dataclass
from functools import cache

from tvm import tirx
from tvm.script.ir_builder import tirx as T

from legalize.kernels.elementwise.float_steps import FloatSteps, stepped
from legalize.kernels.elementwise.pairs import Shape, pairwise
from legalize.kernels.ir.arithmetic import rescaled, round_half_even
from legalize.kernels.ir.vectors import Vector, clamped, kept, lanes_in, splat
from legalize.kernels.isa.base import VectorIsa
from qnn_ops.quantized.binary import SQUARE_SHIFT

# Roughly what one thread computes.
_SQUARED_BYTES_PER_MICROSECOND = 4_000
_HALF = 1 << 30, 0  # the multiplier of the operand with the larger scale


@dataclass(frozen=True)
class Squares:
    """The arithmetic of a squared difference.

    Attributes:
        zero_points: zero points of lhs, rhs and the output, as steps from their lowest values.
        multipliers: multipliers of lhs, rhs and the square, each with its shift.
        steps: the rescaling of the square in float32, if it is exact.
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
        shapes: the shapes of the tensors; they broadcast, and nothing is empty.
        squares: the arithmetic.
        dtypes: the dtypes of lhs, rhs and the output: int8 or uint8 each.
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

    return pairwise(
        isa, "squared_difference", shapes, dtypes, _SQUARED_BYTES_PER_MICROSECOND, combine
    )


# Roughly what one thread multiplies.
_BYTES_PER_MICROSECOND = 8_000
# Larger products saturate any result.
_LARGEST = 4096.0


@dataclass(frozen=True)
class Rescaling:
    """The rescaling of products to outputs.

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


@cache
def multiply(
    isa: VectorIsa,
    shapes: tuple[Shape, Shape],
    zero_points: tuple[int, int],
    rescaling: Rescaling | Rounding,
    dtypes: tuple[str, str, str],
    bounds: tuple[int, int],
) -> tirx.PrimFunc:
    """Build the function that multiplies two tensors.

    Args:
        isa: the instruction set.
        shapes: the shapes of the tensors; they broadcast, and nothing is empty.
        zero_points: zero points of lhs and rhs, as steps from their lowest values.
        rescaling: the rescaling of the products.
        dtypes: the dtypes of lhs, rhs and the output: int8 or uint8 each.
        bounds: the lowest and highest output, as steps from the dtype's lowest value.

    Returns:
        A function of lhs, rhs and the output.
    """

    def centred(value: Vector, zero_point: int) -> list[Vector]:
        return [half - splat("int16", zero_point, lanes_in(half)) for half in isa.widen(value)]

    def rescale(product: Vector) -> Vector:
        if isinstance(rescaling, Rounding):
            return _rounded(rescaling, product)
        if rescaling.steps is not None:
            return stepped(rescaling.steps, product)
        value = rescaled(product, rescaling.multiplier, rescaling.shift)
        return value + splat("int32", rescaling.zero_point, lanes_in(product))

    def combine(lhs: Vector, rhs: Vector) -> Vector:
        halves = zip(centred(lhs, zero_points[0]), centred(rhs, zero_points[1]), strict=True)
        products = [product for half in halves for product in isa.products(*half)]
        return clamped(isa.narrow_all([rescale(product) for product in products]), *bounds)

    return pairwise(isa, "multiply", shapes, dtypes, _BYTES_PER_MICROSECOND, combine)


def _rounded(rounding: Rounding, product: Vector) -> Vector:
    lanes = lanes_in(product)
    scaled = T.Cast(f"float32x{lanes}", product) * splat("float32", rounding.factor, lanes)
    # No compiler fuses this product with a sum: the bounds are between them.
    low, high = (splat("float32", end, lanes) for end in (-_LARGEST, _LARGEST))
    bounded = T.max(T.min(scaled, high), low)
    whole = round_half_even(bounded + splat("float32", rounding.zero_point, lanes))
    return whole - splat("int32", rounding.lowest, lanes)
