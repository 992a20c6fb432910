"""Requantization in float64, for the dense layers of TFLite: rounding "float64".

The output for an accumulator x is round_half_away(fl(x·m)) + zp, clamped, where fl rounds the
product to float64 (to nearest; TVM's runtimes leave that mode as it is). There are two sequences:

* ``double``: step by step, for any x and m. The clamp comes before the rounding: both rise with
  x, and the ends of the clamp are integers. Then small numbers round as trunc(y + copysign(h, y)),
  where h is the float64 below one half. It is not one half, as y + 1/2 may itself be rounded up.
* ``magic``: x·m + (1.5·2^52 + zp), whose lower 32 bits are the result, before the clamp. This
  rounds ties to even, so m is enlarged by some steps of its last bit, to leave no ties.

An output is a step function of x. Two such functions that rise at the same x are equal, and
``magic`` never falls as x rises. So it is offered for an m if it is below k at x_k − 1, and k at
x_k, for each output k and the smallest accumulator x_k that gives it. Compilers may fuse
multiplication and addition, so both ways are tried.
"""

from dataclasses import dataclass

import numpy as np
from tvm.script.ir_builder import tirx as T

from legalize.kernels.conv2d.constants import deal
from legalize.kernels.conv2d.spec import OutputStage
from legalize.kernels.conv2d.x86.epilogue.base import Chosen, Epilogue, Scales
from legalize.kernels.ir.vectors import Array, Vector, lanes_in
from qnn_ops.arithmetic.fixed_point import requantize_float64

_MAGIC = 1.5 * 2.0**52
_BELOW_HALF = 0.49999999999999994
_INT32_MAX = (1 << 31) - 1
# Multipliers whose products with an int32 the proof can compare exactly in two 64-bit halves.
_LEAST, _MOST = 2.0**-28, 2.0**20
_STEPS_TRIED = 4
_LOW_BITS = 27


@dataclass(frozen=True)
class Magic(Epilogue):
    """The sequence ``magic``.

    Attributes:
        zero_point: the outputs' zero point.
    """

    zero_point: int

    @classmethod
    def choose(cls, output: OutputStage, scales: Scales, lanes: Array) -> Chosen | None:
        """Serve rounding "float64", if there is a proof."""
        exact = magic_multiplier(output, scales.multiplier, scales.bound)
        return None if exact is None else Chosen(cls(output.zero_point), _rows(exact, lanes))

    def emit(self, x: Vector, rows: list[Vector], addend: Vector = None) -> Vector:
        """Return the lower words of the sums."""
        addend = _MAGIC + self.zero_point
        words = [
            T.reinterpret(f"int32x{lanes_in(x)}", half * m + _splat(addend, lanes_in(half)))
            for half, m in zip(_halves(x), (rows[0](0), rows[0](1)), strict=True)
        ]
        return T.Shuffle(words, list(range(0, 2 * lanes_in(x), 2)))


@dataclass(frozen=True)
class Double(Magic):
    """The sequence ``double``.

    Attributes:
        low: lower bound of the outputs.
        high: upper bound of the outputs.
    """

    low: int
    high: int

    @classmethod
    def choose(cls, output: OutputStage, scales: Scales, lanes: Array) -> Chosen | None:
        """Serve rounding "float64"."""
        epilogue = cls(output.zero_point, output.low, output.high)
        return Chosen(epilogue, _rows(scales.multiplier, lanes))

    def emit(self, x: Vector, rows: list[Vector], addend: Vector = None) -> Vector:
        """Return the outputs, after the clamp."""
        low, high = (end - self.zero_point for end in (self.low, self.high))
        rounded = []
        for half, m in zip(_halves(x), (rows[0](0), rows[0](1)), strict=True):
            lanes = lanes_in(half)
            # No compiler fuses this product with a sum: the clamp is between them.
            scaled = T.max(T.min(half * m, _splat(high, lanes)), _splat(low, lanes))
            away = T.call_llvm_pure_intrin(
                f"float64x{lanes}", f"llvm.copysign.v{lanes}f64", _splat(_BELOW_HALF, lanes), scaled
            )
            rounded.append(T.Cast(f"int32x{lanes}", scaled + away))
        lanes = lanes_in(x)
        whole = T.Shuffle(rounded, list(range(lanes)))
        return whole + T.broadcast(T.int32(self.zero_point), lanes)


def _rows(multiplier: Array, lanes: Array) -> tuple[Array, ...]:
    """Return the multipliers of the lower and the upper lanes: [vectors, 2, lanes / 2]."""
    return (deal(multiplier, lanes).reshape(len(lanes), 2, -1),)


def magic_multiplier(
    output: OutputStage, multiplier: Array, accumulator_bound: int
) -> Array | None:
    """Find multipliers for which the sequence ``magic`` is exact.

    Args:
        output: the clamp and the zero point.
        multiplier: float64 [channels], positive.
        accumulator_bound: no accumulator is further from zero.

    Returns:
        float64 [channels]; None if there is no proof for every channel.
    """
    # Channels mostly have one multiplier in common.
    multiplier, channels = np.unique(multiplier, return_inverse=True)
    bound = min(accumulator_bound, _INT32_MAX)
    if multiplier.min() < _LEAST or bound * multiplier.max() >= _INT32_MAX - 512:
        return None
    if multiplier.max() >= _MOST:
        return None
    # The least rounded product of a channel for each output but the lowest.
    rounded = np.arange(output.low + 1, output.high + 1) - output.zero_point
    steps, is_reached = _steps(multiplier, rounded, bound)
    is_left = steps > -bound
    found = np.zeros_like(multiplier)
    tried = multiplier
    for _ in range(_STEPS_TRIED):
        good = np.ones(multiplier.shape, bool)
        for reaches in (_reaches_unfused, _reaches_fused):
            # At a tie the sum becomes even.
            ties_up = (rounded + output.zero_point) % 2 == 0
            at_step = reaches(steps, tried[:, None], rounded, ties_up)
            before = reaches(steps - 1, tried[:, None], rounded, ties_up)
            good &= ((at_step | ~is_reached) & ~(before & is_left)).all(axis=1)
        found = np.where(good & (found == 0), tried, found)
        tried = np.nextafter(tried, np.inf)
    return found[channels] if (found > 0).all() else None


def _steps(multiplier: Array, rounded: Array, bound: int) -> tuple[Array, Array]:
    """Return the smallest accumulators from -bound on that give each value or more.

    Returns:
        int64 [channels, outputs], ``bound`` + 1 where no accumulator does; and a mask of the
        others.
    """
    m = multiplier[:, None]
    guess = np.clip(np.floor((rounded - 0.5) / m), -bound, bound).astype(np.int64)
    # The guess is less than 2 off; from high to low, so that the smallest remains.
    steps = np.full(guess.shape, bound + 1)
    for offset in (3, 2, 1, 0, -1, -2):
        x = np.clip(guess + offset, -bound, bound)
        steps = np.where(requantize_float64(x, m) >= rounded, x, steps)
    return steps, steps <= bound


def _reaches_unfused(x: Array, m: Array, rounded: Array, ties_up: Array) -> Array:
    product, tie = x * m, rounded - 0.5
    return np.asarray((product > tie) | ((product == tie) & ties_up))


def _reaches_fused(x: Array, m: Array, rounded: Array, ties_up: Array) -> Array:
    """Tell whether the exact product reaches a value: x·m = (high·2^27 + low)·2^-shift."""
    fraction, exponent = np.frexp(m)
    mantissa = (fraction * 2.0**53).astype(np.int64)
    shift = 53 - exponent.astype(np.int64)
    low = x * (mantissa & ((1 << _LOW_BITS) - 1))
    high = x * (mantissa >> _LOW_BITS) + (low >> _LOW_BITS)
    low &= (1 << _LOW_BITS) - 1
    tie = (2 * rounded - 1) << (shift - 1 - _LOW_BITS)
    return np.asarray((high > tie) | ((high == tie) & ((low > 0) | ties_up)))


def _halves(x: Vector) -> list[Vector]:
    """Return the lower and the upper lanes as float64."""
    lanes = lanes_in(x)
    half = lanes // 2
    ranges = (range(half), range(half, lanes))
    return [T.Cast(f"float64x{half}", T.Shuffle([x], list(lanes))) for lanes in ranges]


def _splat(value: float, lanes: int) -> Vector:
    return T.broadcast(T.float64(value), lanes)
