from functools import partial
from typing import Any

import numpy as np
import pytest

from qnn_ops import QnnError
from qnn_ops.dialect.attributes import (
    check_choice,
    check_dtype,
    check_rank,
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
from qnn_ops.dialect.registry import TensorSpec
from tests.support.errors import failing, giving


@pytest.mark.parametrize("scale", [0.1, np.float32(0.1), np.float64(0.1), [0.1], np.array([0.1])])
def test_one_scale_becomes_the_nearest_float32(scale: Any) -> None:
    value = scale_attr(scale)
    assert type(value) is float
    assert value == float(np.float32(0.1)) != 0.1


def test_scales_per_channel_become_a_list_of_floats() -> None:
    values = scale_attr(np.array([0.1, 0.2]))
    assert values == [float(np.float32(0.1)), float(np.float32(0.2))]


@pytest.mark.parametrize("zero_point", [3, np.uint8(3), [3], np.array([3], np.int64)])
def test_one_zero_point_becomes_an_int(zero_point: Any) -> None:
    value = zero_point_attr(zero_point)
    assert type(value) is int
    assert value == 3


def test_zero_points_per_channel_become_a_list_of_ints() -> None:
    assert zero_point_attr(np.array([3, -4], np.int8)) == [3, -4]


test_ints_are_repeated_or_taken_as_they_are = giving(
    lambda value: ints_attr("strides", value, 2),
    (2, [2, 2]),
    (np.int64(2), [2, 2]),
    ((1, 2), [1, 2]),
    (np.array([1, 2]), [1, 2]),
)


def test_a_number_becomes_the_nearest_float32() -> None:
    assert float_attr("beta", 0.1) == float(np.float32(0.1)) != 0.1
    assert float_attr("beta", 1e39) == float("inf")


def test_an_int_is_not_cut_from_a_float() -> None:
    assert int_attr("axis", np.int64(-1)) == -1


def test_a_list_may_hold_anything() -> None:
    assert list_attr("input_scales", (0.5, None)) == [0.5, None]


test_int_lists_may_be_of_any_length = giving(
    lambda value: int_list_attr("pad_width", value),
    ((), []),
    (np.array([1, 2, 3]), [1, 2, 3]),
)


test_padding_is_top_left_bottom_right = giving(
    padding_attr,
    (1, [1, 1, 1, 1]),
    ((1, 2), [1, 2, 1, 2]),
    ([1, 2, 3, 4], [1, 2, 3, 4]),
)


def test_values_per_axis_broadcast_along_it() -> None:
    data = np.zeros((2, 3, 4))
    for axis in range(-3, 3):
        values = per_axis(list(range(data.shape[axis])), axis, 3)
        assert np.broadcast_shapes(values.shape, data.shape) == data.shape
        assert values.shape[axis] == data.shape[axis]
        assert values.size == data.shape[axis]
    assert per_axis(0.5, 1, 3).shape == ()


_WRONG: list[tuple[Any, str, list[Any]]] = [
    (scale_attr, "a scale is a number or a list of numbers, got",
     [[[0.1, 0.2]], "a", [0.1, "a"], None, [[0.1], [0.2, 0.3]], []]),
    (zero_point_attr, "a zero point is an integer or a list of integers, got",
     [3.0, "3", None, [[3]], [1.5, 2], [], True, [[1], [2, 3]]]),
    (partial(ints_attr, "strides", length=2), "strides must be ",
     [(1, 2, 3), (1,), 1.0, (1, 2.5), "12", None]),
    (partial(float_attr, "beta"), "beta must be a number, got", ["a", [0.1, 0.2], {}]),
    (partial(int_attr, "axis"), "axis must be an integer, got", [1.0, "1", None, [1]]),
    (partial(list_attr, "scales"), "scales must be a list, got", [0.5, None]),
    (partial(int_list_attr, "pad_width"), "pad_width must be a list of integers, got",
     [3, None, (1, 2.0), ["1"]]),
    (padding_attr, "padding must be an int, 2 or 4 ints, got", [(1, 2, 3), (), 0.5, "SAME"]),
    (dtype_range, "must be int8, uint8, int16 or int32, got '", ["int64", "float32", "", "bool"]),
]  # fmt: skip

test_what_does_not_fit_is_named = failing(
    lambda read, value: read(value),
    *((read, value, message) for read, message, values in _WRONG for value in values),
)


def test_dtype() -> None:
    check_dtype("data", "int8", ("int8", "uint8"))
    with pytest.raises(QnnError, match=r"^data must be int8 or uint8, got int16$"):
        check_dtype("data", "int16", ("int8", "uint8"))


def test_rank() -> None:
    check_rank("data", TensorSpec((1, 2), "int8"), 2)
    with pytest.raises(QnnError, match=r"^data must have 4 dimensions, got shape \(1, 2\)$"):
        check_rank("data", TensorSpec((1, 2), "int8"), 4)


def test_choice() -> None:
    check_choice("kind", "relu", ("relu", "relu6"))
    with pytest.raises(QnnError, match=r"^kind must be one of relu, relu6, got 'elu'$"):
        check_choice("kind", "elu", ("relu", "relu6"))
