"""``relay.layout_transform``."""

import numpy as np
import pytest

from tests.support.errors import failing
from tvm_qnn import relay

X = np.arange(2 * 8 * 3 * 5).reshape(2, 8, 3, 5).astype(np.int32)


def arranged(data: np.ndarray, have: str, want: str) -> np.ndarray:
    result = relay.layout_transform(relay.const(data), have, want)
    return np.asarray(relay.create_executor().evaluate(result).numpy())


@pytest.mark.parametrize(
    ("layout", "expected"),
    [
        ("NCHW", X),
        ("NHWC", X.transpose(0, 2, 3, 1)),
        ("NCHW4c", X.reshape(2, 2, 4, 3, 5).transpose(0, 1, 3, 4, 2)),
        ("HC2cNW", X.reshape(2, 4, 2, 3, 5).transpose(3, 1, 2, 0, 4)),
    ],
)
def test_layouts_there_and_back(layout: str, expected: np.ndarray) -> None:
    np.testing.assert_array_equal(arranged(X, "NCHW", layout), expected)
    np.testing.assert_array_equal(arranged(expected, layout, "NCHW"), X)


def test_blocks_of_another_size() -> None:
    blocks = X.reshape(2, 2, 4, 3, 5).transpose(0, 1, 3, 4, 2)
    expected = X.reshape(2, 4, 2, 3, 5).transpose(0, 1, 3, 4, 2)
    np.testing.assert_array_equal(arranged(blocks, "NCHW4c", "NCHW2c"), expected)


test_what_does_not_fit_is_named = failing(
    lambda have, want: relay.layout_transform(relay.const(X), have, want),
    ("NCHW", "NCW", r"'NCHW' to 'NCW' does not fit the shape \(2, 8, 3, 5\)"),
    ("NCW", "NCW", "does not fit the shape"),
    ("NCW4w", "NCW", "does not fit the shape"),
    ("NCHW", "NCHW3c", "8 of C make no blocks of 'NCHW3c'"),
    ("NCHW", "NNHW", "'NNHW' is no layout"),
    ("NCHW", "NHW4c", "'NHW4c' is no layout"),
    ("NCHW", "NC-HW", "'NC-HW' is no layout"),
)
