import numpy as np
import pytest

from legalize.kernels.conv2d.plan import Weights
from legalize.kernels.conv2d.spec import ConvSpec, OutputStage
from legalize.kernels.conv2d.x86.dot.plan import dot_plan
from legalize.kernels.conv2d.x86.epilogue.fixed_point import General
from legalize.kernels.isa.x86 import Isa
from tests.support.convolutions import changed
from tests.support.definition import rescaled
from tests.support.x86 import PROCESSORS, each_isa, run_on

SPEC = ConvSpec(1, 1, 1, 4, 1, 1, 256, output=OutputStage("int8", -3, -128, 127))


@each_isa
@pytest.mark.parametrize("rounding", ["tflite", "upward"])
@pytest.mark.parametrize("low", [-128, SPEC.output.zero_point])
@pytest.mark.parametrize("others", [(-9, -6), (-1, 0), None])
def test_channels_without_weights_leave_the_choice_to_others(
    rounding: str, low: int, others: tuple[int, int] | None, isa: Isa
) -> None:
    spec, rng = changed(SPEC, rounding=rounding, low=low), np.random.default_rng(0)
    size = spec.out_channels
    has_weights = np.zeros(size, bool) if others is None else rng.random(size) < 0.8
    multiplier = rng.integers(1 << 30, 1 << 31, size, dtype=np.int64).astype(np.int32)
    shift = np.where(has_weights, rng.integers(*(others or (0, 1)), size, endpoint=True), 0)
    shift = np.where(has_weights, shift, rng.integers(-31, 13, size)).astype(np.int32)
    near = rng.integers(-(1 << 14), 1 << 14, size)
    bias = np.where(has_weights, near, rng.integers(-(2**31), 2**31, size)).astype(np.int32)
    bias[0], multiplier[0], shift[0] = -(2**31), 1 << 30, 1  # -2^31 before the zero point
    has_weights[0] = False
    kernel = np.zeros((size, 1, 1, 4), np.int8)
    kernel[has_weights, ..., 0] = 1
    plan = dot_plan(spec, isa)
    packed = plan.pack(Weights(kernel, 0, bias, multiplier, shift))
    assert not isinstance(packed.epilogue, General)
    inputs = [np.zeros(spec.in_shape, np.uint8), *packed.constants]
    function = plan.function(packed)
    got = run_on(PROCESSORS[isa][0], function, inputs, spec.out_shape, spec.output.dtype)
    np.testing.assert_array_equal(got.reshape(-1), rescaled(spec, bias, multiplier, shift))
