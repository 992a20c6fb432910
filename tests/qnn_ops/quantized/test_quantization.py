"""From real numbers to quantized integers, back, and from one quantization to another."""

from typing import Any

import numpy as np
import pytest

from frontends.tflite.quantization import Quantization
from qnn_ops import dequantize, quantize, requantize
from qnn_ops.errors import QnnError
from tests.support.arrays import every_value, full_range
from tests.support.encodings import encodings
from tests.support.errors import failing
from tests.support.litert import check_function, encoded, random_ends
from tests.support.operators import module_of

per_tensor = Quantization.per_tensor


def test_ties_go_away_from_zero_and_results_saturate() -> None:
    data = np.array([-0.75, -0.25, 0.25, 0.75, 1.0, 1e30, -1e30], np.float32)
    result = quantize.evaluate(data, 0.5, 3, "int8")
    np.testing.assert_array_equal(result, np.array([1, 2, 4, 5, 5, 127, -128], np.int8))


def test_what_is_no_number_gives_the_zero_point_and_infinities_saturate() -> None:
    data = np.array([np.nan, np.inf, -np.inf], np.float32)
    np.testing.assert_array_equal(quantize.evaluate(data, 0.5, 7, "uint8"), [7, 255, 0])


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
        check_function(actual, "QUANTIZE", data, None, per_tensor(scale, zero_point))


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
        check_function(actual, "QUANTIZE", data, None, per_tensor(float(scale), zero_point))


def test_equals_litert_with_one_scale_per_channel() -> None:
    rng = np.random.default_rng(3)
    for axis in range(3):
        data = rng.uniform(-9, 9, (4, 5, 6)).astype(np.float32)
        scales = np.exp2(rng.uniform(-5, -2, data.shape[axis])).astype(np.float32)
        zero_points = rng.integers(-20, 20, scales.size)
        actual = quantize.evaluate(data, scales.tolist(), zero_points.tolist(), "int8", axis=axis)
        made = Quantization(scales, zero_points.astype(np.int64), axis)
        check_function(actual, "QUANTIZE", data, None, made)


test_what_does_not_fit_is_named = failing(
    lambda attrs: module_of(quantize, [np.zeros((2, 3), np.float32)], **attrs),
    ({"scale": 0.1, "zero_point": 0, "out_dtype": "float16"}, "dtype must be int8"),
    (
        {"scale": 0.1, "zero_point": 300, "out_dtype": "uint8"},
        "zero_point must lie within uint8, got 300",
    ),
    ({"scale": [0.1, 0.2], "zero_point": 0, "out_dtype": "int8"}, "the channel axis has 3"),
    ({"scale": 0.1, "zero_point": 0, "out_dtype": "int8", "axis": 2}, "axis 2 is outside"),
    ({"scale": -0.1, "zero_point": 0, "out_dtype": "int8"}, "scale must be positive and finite"),
    match="quantize: .*{}",
)


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


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16"])
def test_equals_litert_of_dequantize(dtype: str) -> None:
    rng = np.random.default_rng(1)
    for _ in range(60):
        scale = float(np.float32(2.0 ** rng.uniform(-12, 6)))
        # Its kernel for int16 takes no zero point.
        zero_point = 0 if dtype == "int16" else full_range(rng, dtype, ()).item()
        data = full_range(rng, dtype, (20, 30))
        actual = dequantize.evaluate(data, scale, zero_point)
        check_function(actual, "DEQUANTIZE", data, per_tensor(scale, zero_point), None)


def test_equals_litert_with_one_scale_per_channel_of_dequantize() -> None:
    rng = np.random.default_rng(2)
    for axis in range(3):
        data = full_range(rng, "int8", (4, 5, 6))
        scales = np.exp2(rng.uniform(-5, -2, data.shape[axis])).astype(np.float32)
        zero_points = rng.integers(-20, 20, scales.size)
        actual = dequantize.evaluate(data, scales.tolist(), zero_points.tolist(), axis=axis)
        given = Quantization(scales, zero_points.astype(np.int64), axis)
        check_function(actual, "DEQUANTIZE", data, given, None)


test_what_does_not_fit_is_named_of_dequantize = failing(
    lambda attrs: module_of(dequantize, [np.zeros((2, 3), np.int8)], **attrs),
    ({"scale": 0.1, "zero_point": 0, "out_dtype": "float16"}, "out_dtype must be float32"),
    ({"scale": 0.1, "zero_point": 200}, "zero_point must lie within int8, got 200"),
    ({"scale": [0.1, 0.2], "zero_point": 0}, "has 2 values, the channel axis has 3"),
    ({"scale": 0.1, "zero_point": 0, "axis": -3}, "axis -3 is outside"),
    ({"scale": float("inf"), "zero_point": 0}, "must be positive and finite, got inf"),
    match="dequantize: (.* )?{}",
)


def test_data_of_another_dtype_is_named_of_dequantize() -> None:
    with pytest.raises(QnnError, match="quantized_data must be int8 or uint8 or int16 or int32"):
        module_of(dequantize, [np.zeros(3, np.int64)], scale=1.0, zero_point=0)


PLAIN = encodings(input=(0.5, 2), output=(1.0, -3), out_dtype="int8")


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
def test_equals_litert_of_requantize(dtype: str, out_dtype: str) -> None:
    rng, data = np.random.default_rng(1), every_value(dtype)
    for _ in range(150):
        ends = random_ends(rng, dtype, out_dtype)
        actual = requantize.evaluate(data, *ends, out_dtype)
        check_function(actual, "QUANTIZE", data, *encoded(ends))


@pytest.mark.parametrize("out_dtype", ["int8", "int16", "int32"])
def test_equals_litert_from_int16(out_dtype: str) -> None:
    rng = np.random.default_rng(2)
    for _ in range(60):
        scale, _, out_scale, point = random_ends(rng, "int16", "int8", (-9, 2))
        ends = scale, 0, out_scale, point if out_dtype == "int8" else 0
        data = full_range(rng, "int16", (1000,))
        actual = requantize.evaluate(data, *ends, out_dtype)
        check_function(actual, "QUANTIZE", data, *encoded(ends))


test_what_does_not_fit_is_named_of_requantize = failing(
    lambda change: module_of(requantize, [np.zeros((2, 3), np.int8)], **{**PLAIN, **change}),
    ({"out_dtype": "int64"}, "dtype must be int8, uint8, int16 or int32, got 'int64'"),
    ({"rounding": "nearest"}, "rounding must be one of tflite, upward, float32, float64"),
    ({"axis": 2}, "axis 2 is outside a tensor of 2 dimensions"),
    ({"input_scale": [0.1, 0.2]}, "input_scale has 2 values, the channel axis has 3"),
    ({"output_scale": [0.1, 0.2, 0.3]}, "output_scale must be one value for the whole tensor"),
    ({"input_zero_point": -129}, "input_zero_point must lie within int8, got -129"),
    ({"input_scale": 1e30, "output_scale": 1e-8}, "requantize: the scales do not go together"),
    ({"out_max": 128}, "out_min and out_max must be ordered and within int8"),
)


def test_data_of_another_dtype_is_named_of_requantize() -> None:
    with pytest.raises(QnnError, match="quantized_data must be int8 or uint8 or int16 or int32"):
        module_of(requantize, [np.zeros((2, 3), np.float32)], **PLAIN)
