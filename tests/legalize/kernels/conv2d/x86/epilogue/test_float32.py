"""Float32 rescaling against the fixed-point arithmetic: the same integers, or none are offered."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tvm.script.ir_builder import IRBuilder
from tvm.script.ir_builder import tirx as T

from legalize.kernels.conv2d.spec import ConvSpec
from legalize.kernels.conv2d.x86.epilogue.base import Chosen, Scales
from legalize.kernels.conv2d.x86.epilogue.float32 import Float32, float_scales
from tests.legalize.kernels.conv2d.x86.epilogue.test_fixed_point import SPEC
from tests.support.convolutions import changed
from tests.support.definition import rescaled
from tests.support.x86 import needs_vnni, run

Array = np.ndarray[Any, Any]

CHANNELS = 64
BOUND = (1 << 30) - 1


def rescale(chosen: Chosen, x: Array) -> Array:
    """Run the sequence on x, int32 [CHANNELS, n]."""
    vectors, count = CHANNELS // 16, x.shape[1]
    shape = (vectors, count, 16)
    rows = chosen.epilogue.constants
    with IRBuilder() as builder, T.prim_func(s_tir=True):
        T.func_name("rescale")
        T.func_attr({"global_symbol": "rescale"})
        data = T.arg("data", T.buffer(shape, "int32"))
        tables = [
            T.arg(f"c{i}", T.buffer((vectors, number, 16), dtype))
            for i, (dtype, number) in enumerate(rows)
        ]
        output = T.arg("output", T.buffer(shape, "int32"))
        with T.serial(vectors) as v, T.serial(count) as i:
            readers = [lambda row, t=table: t[v, row, T.ramp(0, 1, 16)] for table in tables]
            value = chosen.epilogue.emit(data[v, i, T.ramp(0, 1, 16)], readers)
            T.buffer_store(output, value, [v, i, T.ramp(0, 1, 16)])
    moved = (x + chosen.offset[:, None]).astype(np.int32)
    dealt = moved.reshape(vectors, 16, count).transpose(0, 2, 1)
    result = run(builder.get(), [dealt, *chosen.arrays], shape, "int32")
    return result.transpose(0, 2, 1).reshape(CHANNELS, count)


def check(spec: ConvSpec, x: Array, multiplier: Array, shift: Array) -> None:
    lanes = np.arange(CHANNELS).reshape(-1, 16)
    scales = Scales(multiplier, shift, 0 * shift, BOUND)
    chosen = Float32.choose(spec.output, None, scales, lanes)
    assert chosen is not None
    expected = rescaled(spec, x.T, multiplier, shift)
    got = np.clip(rescale(chosen, x), spec.output.low, spec.output.high).T
    np.testing.assert_array_equal(got, expected)


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
    outputs = np.arange(-131, 132) - spec.output.zero_point + 0.5
    scale = np.maximum(multiplier, 1) * 2.0 ** (shift - 31.0)
    steps = np.rint(outputs / scale[:, None]).clip(-BOUND + 2, BOUND - 2).astype(np.int64)
    near = [steps + i for i in range(-2, 3)]
    far = rng.integers(-BOUND, BOUND, (CHANNELS, 100))
    ends = np.broadcast_to(np.array([-BOUND, -1, 0, 1, BOUND]), (CHANNELS, 5))
    check(spec, np.concatenate([*near, far, ends], axis=1), multiplier, shift)


@needs_vnni
@pytest.mark.parametrize("rounding", ["tflite", "upward"])
def test_equals_fixed_point_everywhere(rounding: str) -> None:
    """All accumulators that a 3 by 3 window can give, and more."""
    spec = changed(SPEC, rounding=rounding)
    multiplier, shift = scales_of(np.random.default_rng(1), "any", (-11, -8))
    for start in range(-(1 << 20), 1 << 20, 1 << 17):
        x = np.arange(start, start + (1 << 17), 16)
        check(spec, x + np.arange(CHANNELS)[:, None] % 16, multiplier, shift)


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
    multiplier = np.array([(1 << 30) + 12345], np.int32)
    assert float_scales(spec.output, multiplier, np.array([shift], np.int32), bound) is None


@pytest.mark.parametrize("name", ["high", "low", "addend", "addend_below", "offset"])
def test_the_proof_fails_for_other_scales(name: str) -> None:
    """The smallest change that matters is seen: the proof is not true of anything."""
    from legalize.kernels.conv2d.x86.epilogue import float32 as module

    multiplier, shift = np.array([1518500250], np.int32), np.array([-9], np.int32)
    scales = float_scales(SPEC.output, multiplier, shift, BOUND)
    assert scales is not None
    outputs = np.arange(SPEC.output.low + 1, SPEC.output.high + 1)
    q, e = multiplier.astype(np.int64)[:, None], -shift.astype(np.int64)[:, None]
    steps = module._steps(SPEC.output, q, e, outputs)
    dead = np.array([False])
    assert module._is_exact(SPEC.output, scales, steps, outputs, dead)
    value = getattr(scales, name)
    moved = {
        "offset": value + 1,
        "high": value * np.float32(1 + 2**-16),
        "low": value + np.float32(1e-9),
    }.get(name, value + scales.high)
    assert not module._is_exact(SPEC.output, replace(scales, **{name: moved}), steps, outputs, dead)
