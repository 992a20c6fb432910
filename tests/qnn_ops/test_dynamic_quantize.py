from __future__ import annotations

import numpy as np
import pytest

from qnn_ops import QnnError, dynamic_quantize
from tests.support.operators import check_round_trips


def test_by_hand() -> None:
    data = np.array([[0.75, -0.75, 1e30, np.nan], [0.5, 0.25, -1e30, 1]], np.float32)
    encoding = np.array([[0.5, 2, 3], [0.25, 4, -128]], np.float32)
    result = dynamic_quantize.evaluate(data, encoding)
    np.testing.assert_array_equal(result, np.array([[5, 1, 127, 3], [-126, -127, -128, -124]]))
    assert result.dtype == np.int8


def test_uint8_is_more_by_128() -> None:
    data = np.linspace(-2, 2, 40, dtype=np.float32).reshape(4, 10)
    encoding = np.tile(np.array([0.02, 50, 9], np.float32), (4, 1))
    low = dynamic_quantize.evaluate(data, encoding).astype(np.int64)
    np.testing.assert_array_equal(dynamic_quantize.evaluate(data, encoding, "uint8"), low + 128)


def test_operands_must_fit() -> None:
    data, encoding = np.zeros((2, 4), np.float32), np.zeros((2, 3), np.float32)
    with pytest.raises(QnnError, match=r"an encoding of shape \(1, 3\) for data of shape"):
        dynamic_quantize.evaluate(data, encoding[:1])
    with pytest.raises(QnnError, match="out_dtype must be int8 or uint8, got int16"):
        dynamic_quantize.evaluate(data, encoding, "int16")


def test_round_trips() -> None:
    arrays = [np.zeros((2, 4), np.float32), np.zeros((2, 3), np.float32)]
    check_round_trips(dynamic_quantize, arrays, out_dtype="uint8")
