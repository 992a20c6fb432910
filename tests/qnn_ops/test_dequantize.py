from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from frontends.tflite.quantization import Quantization
from qnn_ops import QnnError, dequantize
from tests.support.arrays import full_range
from tests.support.litert import litert
from tests.support.operators import check_round_trips, module_of


def test_values_by_hand() -> None:
    result = dequantize.evaluate(np.array([-128, 3, 127], np.int8), 0.5, 3)
    np.testing.assert_array_equal(result, np.array([-65.5, 0, 62], np.float32))


def test_one_scale_per_channel_by_hand() -> None:
    data = np.full((2, 3), 10, np.int32)
    result = dequantize.evaluate(data, [0.5, 0.25, 1.0], 0)
    np.testing.assert_array_equal(result, np.array([[5, 2.5, 10]] * 2, np.float32))


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16"])
def test_equals_litert(dtype: str) -> None:
    rng = np.random.default_rng(1)
    for _ in range(60):
        scale = float(np.float32(2.0 ** rng.uniform(-12, 6)))
        # Its kernel for int16 takes no zero point.
        zero_point = 0 if dtype == "int16" else full_range(rng, dtype, ()).item()
        data = full_range(rng, dtype, (20, 30))
        actual = dequantize.evaluate(data, scale, zero_point)
        expected = litert(
            "DEQUANTIZE",
            [(data, Quantization.per_tensor(scale, zero_point))],
            (data.shape, "float32", None),
        )
        np.testing.assert_array_equal(actual, expected)


def test_equals_litert_with_one_scale_per_channel() -> None:
    rng = np.random.default_rng(2)
    for axis in range(3):
        data = full_range(rng, "int8", (4, 5, 6))
        scales = np.exp2(rng.uniform(-5, -2, data.shape[axis])).astype(np.float32)
        zero_points = rng.integers(-20, 20, scales.size)
        actual = dequantize.evaluate(data, scales.tolist(), zero_points.tolist(), axis=axis)
        expected = litert(
            "DEQUANTIZE",
            [(data, Quantization(scales, zero_points.astype(np.int64), axis))],
            (data.shape, "float32", None),
        )
        np.testing.assert_array_equal(actual, expected)


def test_round_trips() -> None:
    data = np.zeros((2, 3), np.int8)
    check_round_trips(dequantize, [data], scale=0.1, zero_point=4)
    check_round_trips(dequantize, [data], scale=[0.1, 0.2], zero_point=[4, 5], axis=0)


@pytest.mark.parametrize(
    ("attrs", "message"),
    [
        ({"scale": 0.1, "zero_point": 0, "out_dtype": "float16"}, "out_dtype must be float32"),
        ({"scale": 0.1, "zero_point": 200}, "zero_point must lie within int8, got 200"),
        ({"scale": [0.1, 0.2], "zero_point": 0}, "has 2 values, the channel axis has 3"),
        ({"scale": 0.1, "zero_point": 0, "axis": -3}, "axis -3 is outside"),
        ({"scale": float("inf"), "zero_point": 0}, "must be positive and finite, got inf"),
    ],
)
def test_what_does_not_fit_is_named(attrs: dict[str, Any], message: str) -> None:
    with pytest.raises(QnnError, match=f"dequantize: (.* )?{message}"):
        module_of(dequantize, [np.zeros((2, 3), np.int8)], **attrs)


def test_data_of_another_dtype_is_named() -> None:
    with pytest.raises(QnnError, match="quantized_data must be int8 or uint8 or int16 or int32"):
        module_of(dequantize, [np.zeros(3, np.int64)], scale=1.0, zero_point=0)
