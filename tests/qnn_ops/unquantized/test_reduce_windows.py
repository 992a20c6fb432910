"""By hand; tests/frontends/tflite/converters/functions/test_reductions.py compares with LiteRT."""

import numpy as np
import pytest

from qnn_ops import reduce_windows
from tests.support.errors import failing
from tests.support.operators import module_of

DATA = np.array([[1, 2, 3], [4, 0, 6], [100, 50, 3]], np.int8)
START = np.array([1], np.int8)


@pytest.mark.parametrize(
    ("reduction", "expected"),
    [
        ("add", [[8, 12], [155 - 256, 60]]),
        ("multiply", [[0, 0], [0, 0]]),
        ("maximum", [[4, 6], [100, 50]]),
        ("minimum", [[0, 0], [0, 0]]),
        ("all", [[0, 0], [0, 0]]),
        ("any", [[1, 1], [1, 1]]),
    ],
)
def test_by_hand(reduction: str, expected: list[list[int]]) -> None:
    result = reduce_windows.evaluate(DATA, START, [2, 2], [1, 1], [1, 1], reduction)
    assert result.tolist() == expected


def test_windows_have_steps() -> None:
    assert reduce_windows.evaluate(DATA, START, [1, 2], [2, 1], [1, 2]).tolist() == [[5], [104]]


def test_what_is_no_number() -> None:
    data = np.array([np.nan, 2, 1, np.nan], np.float32)
    result = reduce_windows.evaluate(data, np.zeros(1, np.float32), [2], [1], [1], "maximum")
    np.testing.assert_array_equal(result, np.array([2, 2, np.nan], np.float32))


test_attributes_must_fit = failing(
    lambda attrs: module_of(
        reduce_windows,
        [DATA, START],
        **{"window": [1, 1], "strides": [1, 1], "dilations": [1, 1], **attrs},
    ),
    ({"window": [2]}, "window must be positive, one for each of"),
    ({"strides": [0, 1]}, "strides must be positive, one for each of"),
    ({"window": [4, 1]}, r"windows of \[4, 1\] do not fit into"),
    ({"reduction": "mean"}, "reduction must be"),
)
