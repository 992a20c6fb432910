"""Rescaling in float64 against the arithmetic it follows, next to every step and every tie.

Weights are zero, so that an accumulator is its bias.
"""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from legalize.kernels.conv2d.plan import Weights
from legalize.kernels.conv2d.spec import ConvSpec
from legalize.kernels.conv2d.x86.dot.plan import dot_plan
from legalize.kernels.conv2d.x86.epilogue import float64 as module
from legalize.kernels.conv2d.x86.epilogue.float64 import magic_multiplier
from legalize.kernels.isa.x86 import Isa
from qnn_ops.arithmetic.fixed_point import requantize_float64
from qnn_ops.arrays import Array
from tests.legalize.kernels.conv2d.x86.epilogue.test_fixed_point import SPEC
from tests.support.convolutions import changed
from tests.support.x86 import PROCESSORS, each_isa, run_on

DOUBLE = changed(SPEC, rounding="float64")


def expected(spec: ConvSpec, x: Array, multiplier: Array) -> Array:
    moved = requantize_float64(x, multiplier).astype(np.int64) + spec.output.zero_point
    return np.clip(moved, spec.output.low, spec.output.high)


def rescale(spec: ConvSpec, x: Array, multiplier: Array, isa: Isa) -> tuple[str, Array]:
    """Return the kind of the sequence, and its results."""
    spec = replace(spec, out_channels=x.size)
    kernel = np.zeros((x.size, 1, 1, 4), np.int8)
    plan = dot_plan(spec, isa)
    packed = plan.pack(Weights(kernel, 0, x.astype(np.int32), multiplier))
    data = np.zeros(spec.in_shape, np.uint8)
    function = plan.function(packed)
    inputs = [data, *packed.constants]
    got = run_on(PROCESSORS[isa][0], function, inputs, spec.out_shape, spec.output.dtype)
    return type(packed.epilogue).__name__, got.reshape(-1)


def around_ties(rng: np.random.Generator, spec: ConvSpec, m: Array, bound: int) -> Array:
    outputs = (
        rng.integers(spec.output.low - 2, spec.output.high + 3, m.size) - spec.output.zero_point
    )
    steps = np.rint((outputs + 0.5) / m) + rng.integers(-1, 2, m.size)
    anything = rng.integers(-bound, bound, m.size, endpoint=True)
    ends = np.where(rng.random(m.size) < 0.5, bound, -bound)
    x = np.where((np.abs(steps) <= bound) & (rng.random(m.size) < 0.9), steps, anything)
    return np.where(rng.random(m.size) < 0.05, ends, x).astype(np.int64)


def multipliers(rng: np.random.Generator, how: str, size: int, low: int, high: int) -> Array:
    """Draw any bits; few bits, which make ties; or the float64 next to a ratio that makes ties."""
    if how == "any":
        fraction = rng.uniform(0.5, 1, size)
    elif how == "few bits":
        fraction = rng.integers(16, 32, size) / 32
    else:
        divisor = rng.integers(2**8, 2**16, size) * 2 + 1
        fraction = np.frexp((rng.integers(0, 64, size) + 0.5) / divisor)[0]
        fraction = np.nextafter(fraction, rng.integers(0, 2, size) * 2.0)
    return np.asarray(np.ldexp(fraction, rng.integers(low, high, size)))


@each_isa
@pytest.mark.parametrize("how", ["any", "few bits", "ratios"])
@pytest.mark.parametrize(
    ("exponents", "bound", "kind", "bounds"),
    [
        ((-14, 1), 1 << 24, "Magic", (-128, 127)),
        ((-26, -10), 1 << 30, "Magic", (-3, 100)),
        ((-60, 40), (1 << 31) - 1, "Double", (-128, 127)),
    ],
)
def test_equals_the_arithmetic_next_to_every_tie(
    isa: Isa, how: str, exponents: tuple[int, int], bound: int, kind: str, bounds: tuple[int, int]
) -> None:
    rng = np.random.default_rng(0)
    spec = changed(DOUBLE, low=bounds[0], high=bounds[1])
    m = multipliers(rng, how, 2048, *exponents)
    x = around_ties(rng, spec, m, bound)
    found, got = rescale(spec, x, m, isa)
    # Next to a ratio, the reference's own rounding may differ from one multiple to the next.
    assert found == kind or how == "ratios"
    np.testing.assert_array_equal(got, expected(spec, x, m))


@each_isa
@pytest.mark.parametrize("m", [0.0625, 0.1, 1 / 3, 0.007])
def test_equals_the_arithmetic_for_every_accumulator(isa: Isa, m: float) -> None:
    x = np.arange(-(1 << 15), 1 << 15)
    kind, got = rescale(DOUBLE, x, np.array(m), isa)
    assert kind == "Magic"
    np.testing.assert_array_equal(got, expected(DOUBLE, x, np.array(m)))


def test_ties_take_a_larger_multiplier() -> None:
    """Powers of two make ties, which the sequence would round to even."""
    m = np.array([2.0**-4, 0.1234567])
    found = magic_multiplier(DOUBLE.output, m, 1 << 20)
    assert found is not None
    np.testing.assert_array_equal(found > m, [True, False])


@pytest.mark.parametrize("m", [2.0**-29, 2.0**21, 3000.0])
def test_offers_nothing_without_a_proof(m: float) -> None:
    assert magic_multiplier(DOUBLE.output, np.array([0.1]), 1 << 20) is not None
    assert magic_multiplier(DOUBLE.output, np.array([0.1, m]), 1 << 20) is None


def test_steps_are_where_the_arithmetic_rises() -> None:
    m = multipliers(np.random.default_rng(1), "ratios", 50, -10, 0)
    rounded = np.arange(-20, 21)
    steps, is_reached = module._steps(m, rounded, 1 << 20)
    assert is_reached.all()
    for x, least in ((steps, True), (steps - 1, False)):
        assert ((requantize_float64(x, m[:, None]) >= rounded) == least).all()


@pytest.mark.parametrize("reaches", [module._reaches_fused, module._reaches_unfused])
def test_the_proof_sees_the_smallest_change(reaches: Any) -> None:
    """A product next to a tie, by the last bit of the multiplier."""
    m, x, one = np.array([0.5]), np.array([7]), np.array([4])
    for ties_up in (False, True):
        assert reaches(x, m, one, ties_up).item() == ties_up
        assert reaches(x, np.nextafter(m, 1), one, ties_up).item()
        assert not reaches(x, np.nextafter(m, 0), one, ties_up).item()


def test_the_exact_product_is_compared_not_the_rounded_one() -> None:
    """3 times the float64 below one sixth is one half in float64, and less in truth."""
    m, x, one = np.array([1 / 6]), np.array([3]), np.array([1])
    assert x * m == 0.5
    assert module._reaches_unfused(x, m, one, np.array(True))
    assert not module._reaches_fused(x, m, one, np.array(True))
