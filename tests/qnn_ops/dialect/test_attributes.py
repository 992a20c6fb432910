from typing import Any

import numpy as np
import pytest

from qnn_ops.dialect.attributes import (
    dtype_range,
    float_attr,
    int_attr,
    int_list_attr,
    ints_attr,
    list_attr,
    padding_attr,
    per_axis,
    scale_attr,
    zero_point_attr,
)
from tests.support.errors import fails, giving


@pytest.mark.parametrize("scale", [0.1, np.float32(0.1), np.float64(0.1), [0.1], np.array([0.1])])
def test_one_scale_becomes_the_nearest_float32(scale: Any) -> None:
    value = scale_attr(scale)
    assert type(value) is float
    assert value == float(np.float32(0.1)) != 0.1


def test_scales_per_channel_become_a_list_of_floats() -> None:
    values = scale_attr(np.array([0.1, 0.2]))
    assert values == [float(np.float32(0.1)), float(np.float32(0.2))]


@pytest.mark.parametrize("scale", [[[0.1, 0.2]], "a", [0.1, "a"], None, [[0.1], [0.2, 0.3]], []])
def test_what_is_no_scale_is_an_error(scale: Any) -> None:
    fails("a scale is a number or a list of numbers, got", scale_attr, scale)


@pytest.mark.parametrize("zero_point", [3, np.uint8(3), [3], np.array([3], np.int64)])
def test_one_zero_point_becomes_an_int(zero_point: Any) -> None:
    value = zero_point_attr(zero_point)
    assert type(value) is int
    assert value == 3


def test_zero_points_per_channel_become_a_list_of_ints() -> None:
    assert zero_point_attr(np.array([3, -4], np.int8)) == [3, -4]


@pytest.mark.parametrize("zero_point", [3.0, "3", None, [[3]], [1.5, 2], [], True, [[1], [2, 3]]])
def test_what_is_no_zero_point_is_an_error(zero_point: Any) -> None:
    fails("a zero point is an integer or a list of integers, got", zero_point_attr, zero_point)


test_ints_are_repeated_or_taken_as_they_are = giving(
    lambda value: ints_attr("strides", value, 2),
    (2, [2, 2]),
    (np.int64(2), [2, 2]),
    ((1, 2), [1, 2]),
    (np.array([1, 2]), [1, 2]),
)


@pytest.mark.parametrize("value", [(1, 2, 3), (1,), 1.0, (1, 2.5), "12", None])
def test_ints_that_do_not_fit_are_named(value: Any) -> None:
    fails("strides must be ", ints_attr, "strides", value, 2)


def test_a_number_becomes_the_nearest_float32() -> None:
    assert float_attr("beta", 0.1) == float(np.float32(0.1)) != 0.1
    assert float_attr("beta", 1e39) == float("inf")
    value: Any
    for value in ("a", [0.1, 0.2], {}):
        fails("beta must be a number, got", float_attr, "beta", value)


def test_an_int_is_not_cut_from_a_float() -> None:
    assert int_attr("axis", np.int64(-1)) == -1
    for value in (1.0, "1", None, [1]):
        fails("axis must be an integer, got", int_attr, "axis", value)


def test_a_list_may_hold_anything() -> None:
    assert list_attr("input_scales", (0.5, None)) == [0.5, None]
    for value in (0.5, None):
        fails("input_scales must be a list, got", list_attr, "input_scales", value)


test_int_lists_may_be_of_any_length = giving(
    lambda value: int_list_attr("pad_width", value),
    ((), []),
    (np.array([1, 2, 3]), [1, 2, 3]),
)


@pytest.mark.parametrize("value", [3, None, (1, 2.0), ["1"]])
def test_int_lists_that_do_not_fit_are_named(value: Any) -> None:
    fails("pad_width must be a list of integers, got", int_list_attr, "pad_width", value)


test_padding_is_top_left_bottom_right = giving(
    padding_attr,
    (1, [1, 1, 1, 1]),
    ((1, 2), [1, 2, 1, 2]),
    ([1, 2, 3, 4], [1, 2, 3, 4]),
)


@pytest.mark.parametrize("padding", [(1, 2, 3), (), 0.5, "SAME"])
def test_padding_that_does_not_fit_is_named(padding: Any) -> None:
    fails("padding must be an int, 2 or 4 ints, got", padding_attr, padding)


def test_values_per_axis_broadcast_along_it() -> None:
    data = np.zeros((2, 3, 4))
    for axis in range(-3, 3):
        values = per_axis(list(range(data.shape[axis])), axis, 3)
        assert np.broadcast_shapes(values.shape, data.shape) == data.shape
        assert values.shape[axis] == data.shape[axis]
        assert values.size == data.shape[axis]
    assert per_axis(0.5, 1, 3).shape == ()


@pytest.mark.parametrize("dtype", ["int64", "float32", "", "bool"])
def test_other_dtypes_have_no_range(dtype: str) -> None:
    fails(f"must be int8, uint8, int16 or int32, got '{dtype}'", dtype_range, dtype)
