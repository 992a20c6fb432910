"""Every way to rescale, on accumulators around all steps and ties."""

from typing import Any

import numpy as np
import pytest
from tvm.script.ir_builder import IRBuilder
from tvm.script.ir_builder import tirx as T

from legalize.kernels.conv2d.arm.epilogue import (
    Epilogue,
    FixedPoint,
    can_requantize,
    choose_epilogue,
    store_channels,
)
from legalize.kernels.conv2d.calls import fixed_point
from legalize.kernels.conv2d.spec import ConvSpec
from legalize.kernels.isa.arm import ARMV7, NEON
from legalize.kernels.isa.neon import LANES
from qnn_ops.arrays import Array
from tests.support.arm import CORTEX_A15, CORTEX_A72, Core, on_cores, run_cases
from tests.support.convolutions import SPEC, changed, rescaled
from tests.support.programs import Case

# The fixed-point sequences, by the conditions that choose them.
FIXED: dict[str, tuple[dict[str, Any], list[float]]] = {
    "one_shift": ({}, [0.003] * 4),
    "one_shift_and_relu": ({"low": -5}, [0.003] * 4),
    "ties": ({}, [2.0**-9] * 4),
    "shifts": ({}, [0.003, 2.0**-12, 0.4, 0.02]),
    "shifts_and_relu": ({"low": -5, "dtype": "int8"}, [0.003, 2.0**-12, 0.4, 0.02]),
    "some_shifts": ({}, [0.75, 0.003, 0.5, 2.0**-5]),
    "to_the_left": ({}, [1.5, 0.003, 37.0, 0.75]),
    "no_shift": ({}, [0.75, 0.5, 0.9, 0.6]),
    "far": ({}, [2.0**-25 * 1.1] * 4),
    "zero": ({}, [0.0, 0.003, 2.0**-9, 0.0]),
    "lowest_zero_point": ({"zero_point": -128, "high": 90}, [0.003, 2.0**-9, 0.02, 0.4]),
    "unsigned": (
        {"dtype": "uint8", "low": 3, "high": 250, "zero_point": 120},
        [0.003, 2.0**-9, 0.02, 0.001],
    ),
    "upward": ({"rounding": "upward"}, [0.003, 2.0**-9, 0.02, 0.001]),
    "upward_one_shift": ({"rounding": "upward"}, [2.0**-9] * 4),
}
FLOAT: dict[str, tuple[dict[str, Any], list[float]]] = {
    "float32": ({"rounding": "float32"}, [0.003, 2.0**-9, 1.5, 2.0**-25]),
    "float64": ({"rounding": "float64"}, [0.003, 2.0**-9, 1.5, 2.0**-25]),
}


def accumulators(multipliers: list[float]) -> Array:
    """Around each half step of the result, at the ends, and at random: [rows, 4]."""
    rng = np.random.default_rng(0)
    columns = []
    for multiplier in multipliers:
        halves = np.arange(-300, 300) + 0.5
        steps = np.rint(halves / max(multiplier, 2.0**-30)).astype(np.int64)
        ends = [-(2**31), 2**31 - 1, -(2**31) + 1, 0, -1, 1]
        near = np.concatenate([steps - 1, steps, steps + 1, ends])
        anywhere = rng.integers(-(2**31), 2**31, 400)
        columns.append(np.clip(np.concatenate([near, anywhere]), -(2**31), 2**31 - 1))
    return np.stack(columns, axis=1).astype(np.int32)


def case_of(core: Core, spec: ConvSpec, multipliers: list[float]) -> Case:
    isa = ARMV7 if core is CORTEX_A15 else NEON
    epilogue, rows = choose_epilogue(spec.output, *fixed_point(spec, np.array(multipliers)))
    sums = accumulators(multipliers)
    count = len(sums)
    with IRBuilder() as builder, T.prim_func(s_tir=True):
        T.func_name("rescale")
        T.func_attr({"global_symbol": "rescale"})
        data = T.arg("data", T.buffer((count, LANES), "int32"))
        own = [
            T.arg(f"row_{i}", T.buffer((LANES,), dtype))
            for i, dtype in enumerate(epilogue.constants)
        ]
        output = T.arg("output", T.buffer((count * LANES,), spec.output.dtype))
        with T.serial(count) as i:
            constants = [row[T.ramp(0, 1, LANES)] for row in own]
            value = data[i, T.ramp(0, 1, LANES)]
            value = epilogue.emit(isa.neon, value, constants)
            shift = epilogue.narrowing_shift
            store_channels(spec, isa.neon, output, i * LANES, [value], LANES, shift)
    inputs = [sums, *rows]
    return Case(builder.get(), inputs, (count * LANES,), spec.output.dtype)


def check(core: Core, problems: dict[str, tuple[dict[str, Any], list[float]]]) -> None:
    specs = [changed(SPEC, out_channels=4, **changes) for changes, _ in problems.values()]
    multipliers = [values for _, values in problems.values()]
    cases = [case_of(core, *each) for each in zip(specs, multipliers, strict=True)]
    for name, spec, values, case, result in zip(
        problems, specs, multipliers, cases, run_cases(core, cases), strict=True
    ):
        expected = rescaled(spec, case.inputs[0], np.array(values))
        assert np.unique(expected).size > 2
        np.testing.assert_array_equal(result.reshape(-1, LANES), expected, err_msg=name)


@on_cores(CORTEX_A72, CORTEX_A15)
def test_fixed_point_equals_the_reference(core: Core) -> None:
    check(core, FIXED)


@on_cores(CORTEX_A72)
def test_floats_equal_the_reference(core: Core) -> None:
    check(core, FLOAT)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("one_shift", FixedPoint(True, False, False, "all", 8)),
        ("one_shift_and_relu", FixedPoint(True, False, False, "none", 8)),
        ("shifts", FixedPoint(True, True, False, "all")),
        ("some_shifts", FixedPoint(True, True, False, "some")),
        ("to_the_left", FixedPoint(True, True, True, "some")),
        ("no_shift", FixedPoint(True, False, False, "none")),
        ("upward_one_shift", FixedPoint(False, False, False, "none", 8)),
    ],
)
def test_the_cheapest_sequence_is_chosen(name: str, expected: Epilogue) -> None:
    changes, multipliers = FIXED[name]
    spec = changed(SPEC, out_channels=4, **changes)
    scales = fixed_point(spec, np.array(multipliers))
    assert choose_epilogue(spec.output, *scales).epilogue == expected


def test_what_has_no_sequence_is_left_to_the_primitives() -> None:
    half = np.array([0.5, 0.001])
    assert can_requantize(NEON, "tflite", half * 100)
    assert not can_requantize(NEON, "upward", half)
    assert can_requantize(NEON, "upward", half * 0.9)
    assert can_requantize(NEON, "float64", half)
    assert not can_requantize(ARMV7, "float32", half)
