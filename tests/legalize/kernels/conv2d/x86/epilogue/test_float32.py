"""Float32 rescaling against the fixed-point arithmetic: the same integers, or none are offered."""

from dataclasses import replace

import numpy as np
import pytest

from legalize.kernels.conv2d.spec import ConvSpec
from legalize.kernels.conv2d.x86.epilogue.base import Scales
from legalize.kernels.conv2d.x86.epilogue.float32 import Float32, float_scales
from legalize.kernels.conv2d.x86.epilogue.steps import first_accumulators
from qnn_ops.arrays import Array
from tests.legalize.kernels.conv2d.x86.epilogue.test_fixed_point import SPEC
from tests.support.convolutions import changed
from tests.support.epilogues import CHANNELS, LANES, accumulators, check_epilogue
from tests.support.x86 import needs_vnni

BOUND = (1 << 30) - 1


def check(spec: ConvSpec, x: Array, multiplier: Array, shift: Array) -> None:
    scales = Scales(multiplier, shift, 0 * shift, BOUND)
    check_epilogue(Float32, spec, scales, x)


def scales_of(rng: np.random.Generator, how: str, shifts: tuple[int, int]) -> tuple[Array, Array]:
    multiplier = rng.integers(1 << 30, 1 << 31, CHANNELS, dtype=np.int64)
    if how == "round":  # so that there are ties
        multiplier = np.where(rng.random(CHANNELS) < 0.5, 1 << 30, multiplier & -(1 << 26))
    multiplier[0] = 0
    shift = rng.integers(shifts[0], shifts[1], CHANNELS, endpoint=True)
    return multiplier.astype(np.int32), shift.astype(np.int32)


@needs_vnni
@pytest.mark.parametrize("rounding", ["tflite", "upward"])
@pytest.mark.parametrize("bounds", [(-128, 127), (-3, 127), (-100, -20), (10, 90)])
@pytest.mark.parametrize("how", ["any", "round"])
@pytest.mark.parametrize("shifts", [(-14, -4), (-4, -1)])
def test_equals_fixed_point_around_every_step(
    rounding: str, bounds: tuple[int, int], how: str, shifts: tuple[int, int]
) -> None:
    spec = changed(SPEC, rounding=rounding, low=bounds[0], high=bounds[1])
    rng = np.random.default_rng(0)
    multiplier, shift = scales_of(rng, how, shifts)
    scales = Scales(multiplier, shift, 0 * shift, BOUND)
    check(spec, accumulators(spec, scales, rng), multiplier, shift)


@needs_vnni
@pytest.mark.parametrize("rounding", ["tflite", "upward"])
def test_equals_fixed_point_everywhere(rounding: str) -> None:
    """All accumulators that a 3 by 3 window can give, and more."""
    spec = changed(SPEC, rounding=rounding)
    multiplier, shift = scales_of(np.random.default_rng(1), "any", (-11, -8))
    for start in range(-(1 << 20), 1 << 20, 1 << 17):
        x = np.arange(start, start + (1 << 17), 16)
        check(spec, x + np.arange(CHANNELS)[:, None] % 16, multiplier, shift)


@needs_vnni
@pytest.mark.parametrize("factor", [64, 576])
@pytest.mark.parametrize("low", [-128, -3])
def test_takes_accumulators_that_are_a_factor_too_large(factor: int, low: int) -> None:
    spec, rng = changed(SPEC, low=low), np.random.default_rng(1)
    multiplier, shift = scales_of(rng, "any", (-9, -6))
    scales = Scales(multiplier, shift, 0 * shift, 3_000_000, factor=factor)
    check_epilogue(Float32, spec, scales, accumulators(spec, scales, rng))
    far = replace(scales, bounds=2**31 // factor + 1)
    assert Float32.choose(spec.output, far, LANES) is None


@pytest.mark.parametrize(
    ("change", "shift", "bound"),
    [
        ({"dtype": "int32"}, -8, 1000),
        ({}, 1, 1000),
        ({}, -21, 1000),
        ({}, -8, 1 << 30),
        # One step of the output is more accumulators than float32 can count.
        ({}, -20, 1000),
    ],
)
def test_offers_nothing_without_a_proof(change: dict[str, object], shift: int, bound: int) -> None:
    spec = changed(SPEC, zero_point=-128, **change)
    multiplier, shifts = np.array([(1 << 30) + 12345], np.int32), np.array([shift], np.int32)
    assert float_scales(spec.output, Scales(multiplier, shifts, 0 * shifts, bound)) is None


@pytest.mark.parametrize("name", ["high", "low", "addend", "addend_below", "offset"])
def test_the_proof_fails_for_other_scales(name: str) -> None:
    """The smallest change that matters is seen: the proof is not true of anything."""
    from legalize.kernels.conv2d.x86.epilogue import float32 as module

    multiplier, shift = np.array([1518500250], np.int32), np.array([-9], np.int32)
    scales = float_scales(SPEC.output, Scales(multiplier, shift, 0 * shift, BOUND))
    assert scales is not None
    outputs = np.arange(SPEC.output.low + 1, SPEC.output.high + 1)
    q, e = multiplier.astype(np.int64)[:, None], -shift.astype(np.int64)[:, None]
    steps = first_accumulators(SPEC.output, q, e, outputs)
    dead = np.array([False])
    assert module._is_exact(SPEC.output, scales, steps, outputs, dead, 1)
    value = getattr(scales, name)
    moved = {
        "offset": value + 1,
        "high": value * np.float32(1 + 2**-16),
        "low": value + np.float32(1e-9),
    }.get(name, value + scales.high)
    assert not module._is_exact(
        SPEC.output, replace(scales, **{name: moved}), steps, outputs, dead, 1
    )
