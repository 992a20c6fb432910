from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from frontends.tflite.quantization import Quantization
from qnn_ops import QnnError, requantize
from tests.support.arrays import every_value, full_range
from tests.support.litert import litert
from tests.support.operators import check_round_trips, module_of

per_tensor = Quantization.per_tensor

PLAIN: dict[str, Any] = {
    "input_scale": 0.5,
    "input_zero_point": 2,
    "output_scale": 1.0,
    "output_zero_point": -3,
    "out_dtype": "int8",
}


@pytest.mark.parametrize(
    ("rounding", "expected"),
    [
        # -1.5, -0.5, 0, 0.5, 1.5 before the zero point. A multiplier of 1/2 needs no shift, so
        # of gemmlowp's two roundings only the first one, half up, has anything to round.
        ("tflite", [-4, -3, -3, -2, -1]),
        ("upward", [-4, -3, -3, -2, -1]),
        ("float32", [-5, -3, -3, -3, -1]),
        ("float64", [-5, -4, -3, -2, -1]),
    ],
)
def test_ties_by_hand(rounding: str, expected: list[int]) -> None:
    data = np.array([-1, 1, 2, 3, 5], np.int8)
    result = requantize.evaluate(data, **PLAIN, rounding=rounding)
    np.testing.assert_array_equal(result, np.array(expected, np.int8))


def test_one_scale_per_channel_and_a_clamp_range_by_hand() -> None:
    data = np.full((3, 2), 8, np.int32)
    result = requantize.evaluate(
        data, [1.0, 0.5, 4.0], [0, 4, 0], 2.0, 1, "uint8", axis=0, out_min=3, out_max=9
    )
    # 8 * 1/2 + 1, 4 * 1/4 + 1 (below the range), 8 * 4/2 + 1 (above it).
    np.testing.assert_array_equal(result, np.array([[5, 5], [3, 3], [9, 9]], np.uint8))


@pytest.mark.parametrize("out_dtype", ["int8", "uint8"])
@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_equals_litert(dtype: str, out_dtype: str) -> None:
    rng = np.random.default_rng(1)
    data = every_value(dtype)
    for case in range(150):
        exponents = rng.uniform(-9, 5, 2)
        # Powers of two, and quotients that bring one value close to a tie.
        scales = np.exp2(np.round(exponents) if case % 3 == 0 else exponents).astype(np.float32)
        if case % 3 == 1:
            scales[1] = scales[0] * rng.integers(1, 256) / (rng.integers(1, 120) + 0.5)
        attrs: dict[str, Any] = {
            "input_scale": float(scales[0]),
            "input_zero_point": full_range(rng, dtype, ()).item(),
            "output_scale": float(scales[1]),
            "output_zero_point": full_range(rng, out_dtype, ()).item(),
        }
        if case % 3 == 1:
            attrs["input_zero_point"] = np.iinfo(dtype).min
            attrs["output_zero_point"] = np.iinfo(out_dtype).min
        actual = requantize.evaluate(data, **attrs, out_dtype=out_dtype)
        expected = litert(
            "QUANTIZE",
            [(data, per_tensor(attrs["input_scale"], attrs["input_zero_point"]))],
            (
                data.shape,
                out_dtype,
                per_tensor(attrs["output_scale"], attrs["output_zero_point"]),
            ),
        )
        np.testing.assert_array_equal(actual, expected)


@pytest.mark.parametrize("out_dtype", ["int8", "int16", "int32"])
def test_equals_litert_from_int16(out_dtype: str) -> None:
    rng = np.random.default_rng(2)
    for case in range(60):
        exponents = rng.uniform(-9, 2, 2)
        scales = np.exp2(np.round(exponents) if case % 2 == 0 else exponents).astype(np.float32)
        data = full_range(rng, "int16", (1000,))
        output_zero_point = full_range(rng, "int8", ()).item() if out_dtype == "int8" else 0
        actual = requantize.evaluate(
            data, float(scales[0]), 0, float(scales[1]), output_zero_point, out_dtype
        )
        expected = litert(
            "QUANTIZE",
            [(data, per_tensor(float(scales[0]), 0))],
            (data.shape, out_dtype, per_tensor(float(scales[1]), output_zero_point)),
        )
        np.testing.assert_array_equal(actual, expected)


def test_round_trips() -> None:
    data = np.zeros((2, 3), np.int8)
    check_round_trips(requantize, [data], **PLAIN, out_min=0, out_max=5)
    per_channel = {**PLAIN, "input_scale": [0.1, 0.2], "input_zero_point": [1, 2]}
    check_round_trips(requantize, [data], **per_channel, axis=0, rounding="upward")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"out_dtype": "int64"}, "dtype must be int8, uint8, int16 or int32, got 'int64'"),
        ({"rounding": "nearest"}, "rounding must be one of tflite, upward, float32, float64"),
        ({"axis": 2}, "axis 2 is outside a tensor of 2 dimensions"),
        ({"input_scale": [0.1, 0.2]}, "input_scale has 2 values, the channel axis has 3"),
        ({"output_scale": [0.1, 0.2, 0.3]}, "output_scale must be one value for the whole tensor"),
        ({"input_zero_point": -129}, "input_zero_point must lie within int8, got -129"),
        ({"input_scale": 1e30, "output_scale": 1e-8}, "requantize: the scales do not go together"),
        ({"out_max": 128}, "out_min and out_max must be ordered and within int8"),
    ],
)
def test_what_does_not_fit_is_named(change: dict[str, Any], message: str) -> None:
    with pytest.raises(QnnError, match=message):
        module_of(requantize, [np.zeros((2, 3), np.int8)], **{**PLAIN, **change})


def test_data_of_another_dtype_is_named() -> None:
    with pytest.raises(QnnError, match="quantized_data must be int8 or uint8 or int16 or int32"):
        module_of(requantize, [np.zeros((2, 3), np.float32)], **PLAIN)
