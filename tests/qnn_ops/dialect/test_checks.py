from typing import Any

import pytest

from qnn_ops.dialect.checks import (
    check_axis,
    check_bounds,
    check_quantization,
)
from tests.support.errors import failing, fails


def test_axis_is_counted_from_the_front() -> None:
    assert [check_axis(axis, 3) for axis in range(-3, 3)] == [0, 1, 2, 0, 1, 2]
    for axis in (-4, 3):
        fails(f"^axis {axis} is outside a tensor of 3 dimensions$", check_axis, axis, 3)
    fails(r"^axis 0 is outside a tensor of 0 dimensions$", check_axis, 0, 0)


def test_bounds() -> None:
    check_bounds("int8", -128, 127)
    check_bounds("int8", 3, 3)
    for low, high in ((4, 3), (-129, 0), (0, 128)):
        fails(f"ordered and within int8, got {low} and {high}$", check_bounds, "int8", low, high)


@pytest.mark.parametrize(
    ("scale", "zero_point", "channels"),
    [
        (0.5, 0, None),
        (1e-38, 255, None),
        (0.5, 0, 3),
        ((0.1, 0.2, 0.3), 0, 3),
        (0.5, (1, 2, 3), 3),
    ],
)
def test_quantizations_that_fit(scale: Any, zero_point: Any, channels: int | None) -> None:
    check_quantization("input", scale, zero_point, "uint8", channels)


test_quantizations_that_do_not_fit_are_named = failing(
    lambda scale, zero_point, channels: check_quantization(
        "input", scale, zero_point, "uint8", channels
    ),
    (0.0, 0, None, "input_scale must be positive and finite, got 0.0"),
    (-0.5, 0, None, "input_scale must be positive and finite, got -0.5"),
    (float("nan"), 0, None, "input_scale must be positive and finite, got nan"),
    (float("inf"), 0, None, "input_scale must be positive and finite, got inf"),
    ((0.5, 0.0), 0, 2, "input_scale must be positive and finite, got 0.0"),
    (0.5, -1, None, "input_zero_point must lie within uint8, got -1"),
    (0.5, (0, 256), 2, "input_zero_point must lie within uint8, got 256"),
    ((0.5, 0.5), 0, None, "input_scale must be one value for the whole tensor, got 2"),
    (0.5, (1, 2), None, "input_zero_point must be one value for the whole tensor, got 2"),
    ((0.5, 0.5), 0, 3, "input_scale has 2 values, the channel axis has 3"),
    (0.5, (1, 2), 3, "input_zero_point has 2 values, the channel axis has 3"),
    match="^{}$",
)
