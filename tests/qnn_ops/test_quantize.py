from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from frontends.tflite.quantization import Quantization
from qnn_ops import QnnError, quantize
from tests.support.arrays import full_range
from tests.support.litert import litert
from tests.support.operators import check_round_trips, module_of


def test_ties_go_away_from_zero_and_results_saturate() -> None:
    data = np.array([-0.75, -0.25, 0.25, 0.75, 1.0, 1e30, -1e30], np.float32)
    result = quantize.evaluate(data, 0.5, 3, "int8")
    np.testing.assert_array_equal(result, np.array([1, 2, 4, 5, 5, 127, -128], np.int8))


def test_what_is_no_number_gives_the_zero_point_and_infinities_saturate() -> None:
    data = np.array([np.nan, np.inf, -np.inf], np.float32)
    np.testing.assert_array_equal(quantize.evaluate(data, 0.5, 7, "uint8"), [7, 255, 0])


def test_one_scale_per_channel_by_hand() -> None:
    data = np.ones((2, 3), np.float32)
    result = quantize.evaluate(data, [0.5, 0.25], [0, 1], "int8", axis=0)
    np.testing.assert_array_equal(result, np.array([[2, 2, 2], [5, 5, 5]], np.int8))


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16"])
def test_equals_litert(dtype: str) -> None:
    rng = np.random.default_rng(1)
    for case in range(60):
        exponent = rng.uniform(-12, 6)
        scale = float(np.float32(2.0 ** (np.round(exponent) if case % 2 else exponent)))
        # Its kernel for int16 takes no zero point.
        zero_point = 0 if dtype == "int16" else full_range(rng, dtype, ()).item()
        # Beyond the dtype's range, but not beyond int32, where LiteRT's cast is undefined. Half
        # steps of a power of two are ties.
        span = float(np.iinfo(dtype).max) * 3
        data = (rng.uniform(-span, span, (20, 30)) * scale).astype(np.float32)
        data[:10] = np.round(data[:10] / scale) * scale + np.float32(scale / 2)
        actual = quantize.evaluate(data, scale, zero_point, dtype)
        expected = litert(
            "QUANTIZE",
            [(data, None)],
            (data.shape, dtype, Quantization.per_tensor(scale, zero_point)),
        )
        np.testing.assert_array_equal(actual, expected)


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_equals_litert_where_the_float32_quotient_decides(dtype: str) -> None:
    # Quotients within a few float32 steps of a tie.
    rng = np.random.default_rng(2)
    for _ in range(40):
        scale = np.float32(rng.uniform(0.001, 10))
        zero_point = full_range(rng, dtype, ()).item()
        data = ((rng.integers(-300, 300, 500) + 0.5) * scale).astype(np.float32)
        for _ in range(rng.integers(0, 3)):
            data = np.nextafter(data, rng.choice(np.array([-1e9, 1e9], np.float32), 500))
        actual = quantize.evaluate(data, float(scale), zero_point, dtype)
        expected = litert(
            "QUANTIZE",
            [(data, None)],
            (data.shape, dtype, Quantization.per_tensor(float(scale), zero_point)),
        )
        np.testing.assert_array_equal(actual, expected)


def test_equals_litert_with_one_scale_per_channel() -> None:
    rng = np.random.default_rng(3)
    for axis in range(3):
        data = rng.uniform(-9, 9, (4, 5, 6)).astype(np.float32)
        scales = np.exp2(rng.uniform(-5, -2, data.shape[axis])).astype(np.float32)
        zero_points = rng.integers(-20, 20, scales.size)
        actual = quantize.evaluate(data, scales.tolist(), zero_points.tolist(), "int8", axis=axis)
        expected = litert(
            "QUANTIZE",
            [(data, None)],
            (data.shape, "int8", Quantization(scales, zero_points.astype(np.int64), axis)),
        )
        np.testing.assert_array_equal(actual, expected)


def test_round_trips() -> None:
    data = np.zeros((2, 3), np.float32)
    check_round_trips(quantize, [data], scale=0.1, zero_point=4, out_dtype="uint8")
    check_round_trips(
        quantize, [data], scale=[0.1, 0.2], zero_point=[4, 5], out_dtype="int8", axis=0
    )


@pytest.mark.parametrize(
    ("attrs", "message"),
    [
        ({"scale": 0.1, "zero_point": 0, "out_dtype": "float16"}, "dtype must be int8"),
        (
            {"scale": 0.1, "zero_point": 300, "out_dtype": "uint8"},
            "zero_point must lie within uint8, got 300",
        ),
        ({"scale": [0.1, 0.2], "zero_point": 0, "out_dtype": "int8"}, "the channel axis has 3"),
        ({"scale": 0.1, "zero_point": 0, "out_dtype": "int8", "axis": 2}, "axis 2 is outside"),
        (
            {"scale": -0.1, "zero_point": 0, "out_dtype": "int8"},
            "scale must be positive and finite",
        ),
    ],
)
def test_what_does_not_fit_is_named(attrs: dict[str, Any], message: str) -> None:
    with pytest.raises(QnnError, match=f"quantize: .*{message}"):
        module_of(quantize, [np.zeros((2, 3), np.float32)], **attrs)


def test_data_of_another_dtype_is_named() -> None:
    with pytest.raises(QnnError, match="data must be float32, got float64"):
        module_of(quantize, [np.zeros(3)], scale=1.0, zero_point=0, out_dtype="int8")


def test_a_multiplier_is_a_product_rounded_half_to_even() -> None:
    data = np.array([0.25, 0.75, 1.25, -0.25, -0.75, 100, -100, np.nan, np.inf], np.float32)
    result = quantize.evaluate(data, 0.5, 3, "int8", multiplier=2.0)
    np.testing.assert_array_equal(result, [3, 5, 5, 3, 1, 127, -128, 3, 127])


def test_the_multiplier_decides_where_the_scale_is_another_number() -> None:
    # The float32 nearest to 1 / 0.3, and its own reciprocal: not inverse to each other.
    multiplier = np.float32(1) / np.float32(0.3)
    data = np.linspace(-5, 5, 10_001, dtype=np.float32)
    result = quantize.evaluate(data, 0.3, 0, "int8", multiplier=float(multiplier))
    np.testing.assert_array_equal(result, np.rint(data * multiplier).astype(np.int8))


@pytest.mark.parametrize("multiplier", [0.0, -1.0, np.inf, [1.0, 2.0]])
def test_a_multiplier_that_does_not_fit(multiplier: Any) -> None:
    with pytest.raises(QnnError, match="multiplier"):
        quantize.evaluate(np.zeros((2, 3), np.float32), 1.0, 0, "int8", multiplier=multiplier)


def test_a_multiplier_goes_through_text_and_json() -> None:
    data = np.zeros((2, 3), np.float32)
    check_round_trips(
        quantize, [data], scale=0.1, zero_point=0, out_dtype="int8", multiplier=[9.0, 10.0, 11.0]
    )
