"""Rescaling alone: data of zero, so that an accumulator is its bias.

Left shifts of large accumulators wrap, in the kernel as in the arithmetic it follows.
"""

import numpy as np
import pytest

from legalize.kernels.conv2d.plan import Weights
from legalize.kernels.conv2d.spec import ConvSpec, OutputStage
from legalize.kernels.conv2d.x86.dot.plan import dot_plan
from legalize.kernels.conv2d.x86.epilogue.base import Epilogue, Scales
from legalize.kernels.conv2d.x86.epilogue.choose import choose_epilogue
from legalize.kernels.conv2d.x86.epilogue.fixed_point import FixedPoint
from legalize.kernels.isa.x86 import AVX512_VNNI, Isa
from qnn_ops.arrays import Array
from tests.support.convolutions import changed
from tests.support.definition import rescaled
from tests.support.x86 import PROCESSORS, each_isa, needs_vnni, run_on

SPEC = ConvSpec(1, 1, 1, 4, 1, 1, 8192, output=OutputStage("int8", -3, -128, 127))


def kind_of(epilogue: Epilogue) -> str:
    """ "one_floor", "two_floors", or the name of another sequence."""
    if isinstance(epilogue, FixedPoint):
        return "two_floors" if epilogue.has_two_floors else "one_floor"
    return type(epilogue).__name__


# The bounds of accumulators, less the largest product of the one weight.
FAST = (1 << 30) - 255
ENDS = {"one_floor": FAST, "two_floors": FAST, "General": 1 << 31}


def around_steps(
    rng: np.random.Generator, multiplier: Array, shift: Array, bound: int, zero_point: int
) -> Array:
    """Accumulators next to where the output steps, and a few that are anything."""
    outputs = rng.integers(-130, 131, multiplier.size) - zero_point
    scale = np.maximum(multiplier, 1) * 2.0 ** (shift - 31.0)
    steps = np.rint((outputs + 0.5) / scale) + rng.integers(-2, 3, multiplier.size)
    anything = rng.integers(-bound, bound, multiplier.size)
    far = (np.abs(steps) >= bound) | (rng.random(multiplier.size) < 0.1)
    ends = np.where(rng.random(multiplier.size) < 0.5, bound - 1, 1 - bound)
    anything = np.where(rng.random(multiplier.size) < 0.1, ends, anything)
    return np.where(far, anything, steps).astype(np.int64)


@needs_vnni
@pytest.mark.parametrize("rounding", ["tflite", "upward"])
@pytest.mark.parametrize(
    ("kind", "shifts"),
    [
        ("fast", (-21, -1)),
        ("fast", (-21, 0)),
        ("fast", (-31, -1)),
        ("fast", (-31, 0)),
        ("General", (-31, 12)),
    ],
)
@pytest.mark.parametrize("relu", [False, True])
@pytest.mark.parametrize("multipliers", ["any", "round"])
def test_every_sequence_is_exact(
    rounding: str, kind: str, shifts: tuple[int, int], relu: bool, multipliers: str
) -> None:
    check(rounding, kind, shifts, relu, multipliers, AVX512_VNNI)


@each_isa
@pytest.mark.parametrize(
    ("kind", "shifts", "relu"),
    [
        ("fast", (-21, 0), False),
        ("fast", (-21, 0), True),
        ("fast", (-31, -1), True),
        ("fast", (-21, -1), True),
        ("General", (-31, 12), False),
    ],
)
def test_every_instruction_set_rescales_exactly(
    isa: Isa, kind: str, shifts: tuple[int, int], relu: bool
) -> None:
    check("tflite", kind, shifts, relu, "round", isa)


def check(
    rounding: str,
    kind: str,
    shifts: tuple[int, int],
    relu: bool,
    multipliers: str,
    isa: Isa,
) -> None:
    spec = changed(SPEC, rounding=rounding, low=SPEC.output.zero_point if relu else -128)
    if kind == "fast":
        kind = "one_floor" if relu or rounding == "upward" else "two_floors"
    rng = np.random.default_rng(0)
    size = spec.out_channels
    multiplier = rng.integers(1 << 30, 1 << 31, size, dtype=np.int64)
    if multipliers == "round":  # so that there are ties
        multiplier = np.where(rng.random(size) < 0.5, 1 << 30, multiplier & -(1 << 26))
    multiplier[:7] = 0
    shift = rng.integers(shifts[0], shifts[1], size, endpoint=True).astype(np.int32)
    shift[:2] = shifts
    bias = around_steps(rng, multiplier, shift, ENDS[kind], spec.output.zero_point)
    kernel = np.eye(1, 4, dtype=np.int8) * np.ones((size, 1, 1, 1), np.int8)
    plan = dot_plan(spec, isa)
    packed = plan.pack(Weights(kernel, 0, bias.astype(np.int32), multiplier, shift))
    assert kind_of(packed.epilogue) == kind
    data = np.zeros(spec.in_shape, np.uint8)
    function = plan.function(packed)
    inputs = [data, *packed.constants]
    got = run_on(PROCESSORS[isa][0], function, inputs, spec.out_shape, spec.output.dtype)
    np.testing.assert_array_equal(got.reshape(-1), rescaled(spec, bias, multiplier, shift))


def chosen(spec: ConvSpec, shift: list[int], bound: int) -> Epilogue:
    """Of two channels in vectors of AVX2."""
    multiplier = np.full(2, 1 << 30, np.int32)
    scales = Scales(multiplier, np.array(shift, np.int32), 0 * multiplier, bound)
    lanes = np.array([[0, 1, -1, -1, -1, -1, -1, -1]])
    return choose_epilogue(spec.output, scales, lanes).epilogue


@pytest.mark.parametrize(
    ("change", "shift", "bound", "kind"),
    [
        ({}, -8, 1000, "two_floors"),
        ({"low": -3}, -8, 1000, "one_floor"),
        ({"low": -4}, -8, 1000, "two_floors"),
        ({"rounding": "upward"}, -8, 1000, "one_floor"),
        ({}, 1, 1000, "General"),
        ({}, -8, 1 << 30, "General"),
        ({"dtype": "int32"}, 1, 1 << 30, "Sums"),
    ],
)
def test_choice_of_the_sequence(
    change: dict[str, object], shift: int, bound: int, kind: str
) -> None:
    spec = changed(SPEC, **change)
    assert kind_of(chosen(spec, [shift, shift], bound)) == kind


@pytest.mark.parametrize(("low", "is_doubled"), [(-1, False), (0, True)])
def test_one_shift_where_there_is_no_shift_of_zero(low: int, is_doubled: bool) -> None:
    spec = changed(SPEC, rounding="upward")
    epilogue = chosen(spec, [-8, low], 1000)
    assert isinstance(epilogue, FixedPoint)
    assert epilogue.is_doubled == is_doubled
