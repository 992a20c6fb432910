from typing import Any, get_args

import numpy as np
import pytest

from qnn_ops.dialect import declared
from tests.support.errors import fails


def formed(declaration: Any, value: Any) -> Any:
    """Return a value in the form of a declared type."""
    attribute = get_args(declaration)[1]
    assert isinstance(attribute, declared.Attribute)
    return attribute.form("name", value)


@pytest.mark.parametrize(
    ("declaration", "value", "expected"),
    [
        (declared.Text, "a", "a"),
        (declared.Flag, 1, True),
        (declared.Int, np.int64(3), 3),
        (declared.Ints, (1, 2), [1, 2]),
        (declared.Float, 0.1, float(np.float32(0.1))),
        (declared.Double, np.float64(0.1), 0.1),
        (declared.Doubles, np.array([0.1]), [0.1]),
        (declared.Axes, -1, [-1]),
        (declared.Axes, (0, 1), [0, 1]),
        (declared.Strides, 2, [2, 2]),
        (declared.Padding, (1, 2), [1, 2, 1, 2]),
        (declared.KernelScale, [0.5, 0.25], [0.5, 0.25]),
        (declared.KernelZeroPoint, [3], 3),
        (declared.Scales, (0.5, [0.25]), [0.5, 0.25]),
        (declared.ZeroPoints, (np.uint8(3), -4), [3, -4]),
    ],
)
def test_values_get_their_form(declaration: Any, value: Any, expected: Any) -> None:
    value = formed(declaration, value)
    assert value == expected
    assert type(value) is type(expected)


def test_errors_name_the_attribute() -> None:
    fails("name must be a list, got 3", formed, declared.Scales, 3)
    fails(r"name must be an integer, got 0\.5", formed, declared.Axes, 0.5)


@pytest.mark.parametrize(("end", "dtype", "expected"), [(0, "int8", -128), (1, "uint8", 255)])
def test_bounds_default_to_the_range_of_the_dtype(end: int, dtype: str, expected: int) -> None:
    default = declared.bound(end, "").default
    assert default is not None
    assert default({"out_dtype": dtype}) == expected


def test_a_choice_documents_itself() -> None:
    assert declared.choice("max", "avg").text == '"max" or "avg".'
