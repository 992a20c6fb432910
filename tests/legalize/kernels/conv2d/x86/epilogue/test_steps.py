"""Lines that rise where they are told to."""

from fractions import Fraction

import numpy as np
import pytest

from legalize.kernels.conv2d.x86.epilogue.base import Scales
from legalize.kernels.conv2d.x86.epilogue.steps import line_through, steps_of
from tests.legalize.kernels.conv2d.x86.epilogue.test_fixed_point import SPEC
from tests.support.convolutions import changed
from tests.support.definition import rescaled

ENDS = (np.array([[-(1 << 30)]]), np.array([[1 << 30]]))


@pytest.mark.parametrize("rounding", ["tflite", "upward"])
def test_outputs_rise_at_the_steps(rounding: str) -> None:
    spec = changed(SPEC, rounding=rounding)
    multiplier = np.array([1 << 30, 1518500250, (1 << 31) - 1], np.int32)
    shift = np.array([0, -1, -9], np.int32)
    steps = steps_of(spec.output, Scales(multiplier, shift, 0 * shift, 1000))
    assert steps is not None
    for number, less in ((steps.first, 0), (steps.first - 1, 1)):
        outputs = rescaled(spec, number.T, multiplier, shift).T
        np.testing.assert_array_equal(outputs, np.broadcast_to(steps.outputs - less, outputs.shape))


def test_lines_pass_between_the_steps() -> None:
    scale, limits = np.array([0.0123, 0.37]), np.arange(-100, 100)
    first = np.ceil((limits + 0.25) / scale[:, None]).astype(np.int64)
    line = line_through(scale, first, limits, *ENDS)
    assert line is not None
    assert line.scale.dtype == line.addend.dtype == np.float32
    for s, c, accumulators in zip(line.scale, line.addend, first, strict=True):
        slope, addend = Fraction(float(s)), Fraction(float(c))
        for x, limit in zip(map(int, accumulators), map(int, limits), strict=True):
            assert x * slope + addend >= limit
            assert (x - 1) * slope + addend < limit


def test_all_channels_have_their_lines() -> None:
    scale, limits = np.array([0.0123, 0.37]), np.arange(-100, 100)
    first = np.ceil((limits + 0.25) / scale[:, None]).astype(np.int64)
    line = line_through(scale, first, limits, *ENDS)
    many = line_through(np.tile(scale, 200), np.tile(first, (200, 1)), limits, *ENDS)
    assert line is not None
    assert many is not None
    np.testing.assert_array_equal(many.scale, np.tile(line.scale, 200))
    np.testing.assert_array_equal(many.addend, np.tile(line.addend, 200))


def test_no_line_bends() -> None:
    scale, limits = np.array([0.1]), np.arange(3)
    assert line_through(scale, np.array([[0, 10, 20]]), limits, *ENDS) is not None
    assert line_through(scale, np.array([[0, 10, 22]]), limits, *ENDS) is None
    # Nobody sees where it bends beyond the accumulators.
    assert (
        line_through(scale, np.array([[0, 10, 22]]), limits, ENDS[0], np.array([[15]])) is not None
    )


def test_the_last_accumulators_are_held_to_steps_beyond_them() -> None:
    first, limits, scale = np.array([[100, 200]]), np.array([1, 2]), np.array([0.3])
    lowest, highest = np.array([[-10]]), np.array([[20]])
    line = line_through(scale, first, limits, lowest, highest)
    assert line is not None
    assert 20 * line.scale[0] + line.addend[0] < 1
