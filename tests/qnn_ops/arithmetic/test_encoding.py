import math
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from qnn_ops.arithmetic.encoding import (
    Encoding,
    PerChannelEncoding,
    dequantize_array,
    quantize_array,
    snpe,
    symmetric,
    symmetric_per_channel,
    tflite_asymmetric,
)
from qnn_ops.dialect.attributes import dtype_range
from tests.support.errors import fails

ends = st.floats(-1e6, 1e6, width=32)
dtypes = st.sampled_from(["int8", "uint8", "int16"])
DATA = [-1.8, -1.0, 0.0, 0.5]


@st.composite
def encoded_ranges(draw: st.DrawFn) -> tuple[float, float, Encoding]:
    """Return a range of real values that includes 0, and an encoding made from it."""
    low, high = sorted((draw(ends), draw(ends)))
    assume(low == high == 0 or high - low > 1e-30)
    kind = draw(st.sampled_from(["tflite", "narrow", "full", "snpe"]))
    if kind == "tflite":
        return min(low, 0), max(high, 0), tflite_asymmetric(low, high, draw(dtypes))
    if kind == "snpe":
        return min(low, 0), max(high, 0), snpe(low, high)
    largest = max(abs(low), abs(high))
    signed = draw(st.sampled_from(["int8", "int16"]))
    return -largest, largest, symmetric(largest, signed, narrow_range=kind == "narrow")


class TestEveryEncoding:
    @given(encoded_ranges())
    def test_zero_is_exact(self, case: tuple[float, float, Encoding]) -> None:
        encoding = case[2]
        for rounding in ("half_away", "half_even", "half_up"):
            zero = quantize_array(0.0, encoding, rounding)
            assert zero == encoding.zero_point
            assert dequantize_array(zero, encoding) == 0.0

    @given(encoded_ranges())
    def test_scale_and_zero_point_fit(self, case: tuple[float, float, Encoding]) -> None:
        encoding = case[2]
        low, high = dtype_range(encoding.dtype)
        assert low <= encoding.zero_point <= high
        assert encoding.scale > 0
        assert encoding.scale == float(np.float32(encoding.scale))

    @given(encoded_ranges(), st.lists(st.floats(0, 1), min_size=1))
    def test_the_range_comes_back_within_half_a_step(
        self, case: tuple[float, float, Encoding], positions: list[float]
    ) -> None:
        low, high, encoding = case
        where = np.array([0.0, 1.0, *positions])
        values = (low + (high - low) * where).astype(np.float32)
        for rounding in ("half_away", "half_even", "half_up"):
            back = dequantize_array(quantize_array(values, encoding, rounding), encoding)
            error = np.abs(back.astype(np.float64) - values)
            # Half a step, and four float32 roundings (scale, quotient, result, value) of numbers
            # as large as the range.
            bound = encoding.scale / 2 + 4 * 2.0**-24 * max(abs(low), abs(high))
            assert error.max() <= bound

    @given(encoded_ranges())
    def test_integers_come_back(self, case: tuple[float, float, Encoding]) -> None:
        encoding = case[2]
        low, high = dtype_range(encoding.dtype)
        integers = np.arange(low, high + 1, dtype=encoding.dtype)
        for rounding in ("half_away", "half_even", "half_up"):
            reals = dequantize_array(integers, encoding)
            np.testing.assert_array_equal(quantize_array(reals, encoding, rounding), integers)

    @given(encoded_ranges())
    def test_real_range(self, case: tuple[float, float, Encoding]) -> None:
        encoding = case[2]
        ends = np.array(dtype_range(encoding.dtype), dtype=encoding.dtype)
        expected = np.asarray(encoding.real_range, dtype=np.float32)
        np.testing.assert_array_equal(dequantize_array(ends, encoding), expected)


class TestTfliteAsymmetric:
    @pytest.mark.parametrize(
        ("low", "high", "dtype", "scale", "zero_point"),
        [
            # The figures of the framework's own unit test.
            (-10.0, 30.0, "uint8", 0.156863, 64),
            (0.0, 30.0, "uint8", 0.117647, 0),
            (-10.0, 0.0, "uint8", 0.039216, 255),
            # Widened to include 0.
            (10.0, 30.0, "uint8", 0.117647, 0),
            (-10.0, -4.0, "int8", 0.039216, 127),
            # 0 lies between two integers, at -0.5 and 127.5: rounded away from zero.
            (-1.0, 1.0, "int8", 2 / 255, -1),
            (-1.0, 1.0, "uint8", 2 / 255, 128),
            (-1.0, 1.0, "int16", 2 / 65535, -1),
            (-128.0, 127.0, "int8", 1.0, 0),
            # 0 lies at 25.5, which only the smaller terms (0.3 / scale) give: the others, 25.4999….
            (-0.3, 2.7, "uint8", 3 / 255, 26),
            # 0 lies at 118.5 likewise, seen from the upper end.
            (-8.7, 0.3, "int8", 9 / 255, 119),
        ],
    )
    def test_table(
        self, low: float, high: float, dtype: str, scale: float, zero_point: int
    ) -> None:
        encoding = tflite_asymmetric(low, high, dtype)
        assert encoding.scale == pytest.approx(scale, abs=5e-7)
        assert (encoding.zero_point, encoding.dtype) == (zero_point, dtype)

    @given(ends, ends, st.sampled_from(["int8", "int16"]))
    def test_zero_point_is_the_nearest(self, low: float, high: float, dtype: str) -> None:
        low, high = min(low, high, 0), max(low, high, 0)
        assume(high - low > 1e-30)
        lowest, highest = dtype_range(dtype)
        exact = lowest - low * (highest - lowest) / (high - low)
        # The slack is for the float64 roundings, which decide at a tie.
        assert abs(tflite_asymmetric(low, high, dtype).zero_point - exact) <= 0.5 + 1e-9

    def test_nothing_but_zero(self) -> None:
        assert tflite_asymmetric(0.0, 0.0, "uint8") == Encoding(1.0, 0, "uint8")

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            ((math.nan, 1.0, "int8"), "finite"),
            ((0.0, math.inf, "int8"), "finite"),
            ((2.0, 1.0, "int8"), "ordered"),
            ((-1e308, 1e308, "int8"), "no float32 scale"),
            ((0.0, 1e-44, "int8"), "no float32 scale"),
            ((0.0, 1.0, "int32"), "dtype must be int8"),
        ],
    )
    def test_bad(self, arguments: tuple[float, float, str], message: str) -> None:
        fails(message, tflite_asymmetric, *arguments)


class TestSymmetric:
    def test_narrow_range_reaches_both_ends(self) -> None:
        encoding = symmetric(2.54, "int8")
        assert encoding == Encoding(float(np.float32(2.54 / 127)), 0, "int8")
        assert quantize_array([-2.54, 2.54], encoding).tolist() == [-127, 127]
        assert symmetric(1.0, "int16").scale == float(np.float32(1 / 32767))

    def test_full_range_uses_every_integer(self) -> None:
        encoding = symmetric(127.5, "int8", narrow_range=False)
        assert encoding == Encoding(1.0, 0, "int8")
        assert quantize_array([-127.5, 127.5], encoding).tolist() == [-128, 127]

    def test_zero(self) -> None:
        assert symmetric(0.0, "int8") == Encoding(1.0, 0, "int8")

    @pytest.mark.parametrize("largest", [math.nan, math.inf, -1.0])
    def test_bad_magnitude(self, largest: float) -> None:
        fails("max_abs must be finite and not negative", symmetric, largest, "int8")

    def test_unsigned(self) -> None:
        fails("dtype must be int8 or int16, got uint8", symmetric, 1.0, "uint8")


class TestSymmetricPerChannel:
    @pytest.mark.parametrize("axis", [0, 1, 2, -1])
    def test_each_channel_as_if_alone(self, axis: int) -> None:
        rng = np.random.default_rng(0)
        weights = rng.normal(size=(3, 4, 5)) * rng.uniform(0.01, 10, (3, 4, 5))
        encoding = symmetric_per_channel(weights, axis)
        quantized = quantize_array(weights, encoding)
        back = dequantize_array(quantized, encoding)
        assert quantized.dtype == np.int8
        assert encoding.axis == axis % 3
        for channel in range(weights.shape[axis]):
            part = weights.take(channel, axis)
            alone = symmetric(np.abs(part).max(), "int8")
            assert encoding.scale[channel] == alone.scale
            expected = quantize_array(part, alone)
            np.testing.assert_array_equal(quantized.take(channel, axis), expected)
            assert np.abs(expected).max() == 127
            np.testing.assert_array_equal(
                back.take(channel, axis), dequantize_array(expected, alone)
            )

    def test_a_channel_of_zeros(self) -> None:
        encoding = symmetric_per_channel([[0.0, 0.0], [1.0, -2.54]], 0, "int8")
        assert encoding.scale == [1.0, float(np.float32(2.54 / 127))]
        assert encoding.zero_point == [0, 0]

    def test_bad(self) -> None:
        fails("axis 2 is outside", symmetric_per_channel, np.ones((2, 2)), 2)
        fails("weights must be finite, got inf", symmetric_per_channel, [1.0, math.inf], 0)


class TestSnpe:
    def test_worked_example(self) -> None:
        encoding = snpe(min(DATA), max(DATA))
        assert encoding.real_range == pytest.approx((-1.803922, 0.496078), abs=5e-7)
        assert encoding.scale == pytest.approx(0.009020, abs=5e-7)
        quantized = quantize_array(DATA, encoding, "half_up")
        assert quantized.tolist() == [0, 89, 200, 255]
        # The figures are printed with four digits, the last one cut off.
        back = dequantize_array(quantized, encoding)
        np.testing.assert_allclose(back, [-1.8039, -1.0011, 0.0, 0.4961], rtol=0, atol=1e-4)

    @pytest.mark.parametrize(
        ("low", "high", "expected", "zero_point"),
        [
            (5.0, 10.0, (0.0, 10.0), 0),
            (-20.0, -6.0, (-20.0, 0.0), 255),
            (-5.1, 5.1, (-5.12, 5.08), 128),
            (-1.0, 1.0, (-256 / 255, 254 / 255), 128),  # a tie that the float32 scale would break
            (0.0, 0.0, (0.0, 0.01), 0),
            (3.0, 3.0, (0.0, 3.01), 0),
            (0.0, 0.001, (0.0, 0.01), 0),
        ],
    )
    def test_rules(
        self, low: float, high: float, expected: tuple[float, float], zero_point: int
    ) -> None:
        encoding = snpe(low, high)
        # Within the rounding of a float32 scale.
        assert encoding.real_range == pytest.approx(expected, rel=1e-6)
        assert encoding.zero_point == zero_point
        assert encoding.dtype == "uint8"

    @given(st.lists(ends, min_size=1, max_size=50))
    def test_integers_as_the_documentation_computes_them(self, data: list[float]) -> None:
        encoding = snpe(min(data), max(data))
        low, high = encoding.real_range
        position = 255 * (np.array(data) - low) / (high - low)
        # The two forms divide in other orders: where that decides, either side is right.
        assume((np.abs(position % 1 - 0.5) > 1e-4).all())
        expected = np.clip(np.floor(position + 0.5), 0, 255)
        np.testing.assert_array_equal(quantize_array(data, encoding, "half_up"), expected)

    @pytest.mark.parametrize(
        ("low", "high"), [(math.nan, 0.0), (-math.inf, 0.0), (1.0, -1.0), (0.0, 1e300)]
    )
    def test_bad(self, low: float, high: float) -> None:
        fails("range", snpe, low, high)


class TestQuantizeArray:
    @pytest.mark.parametrize(
        ("rounding", "expected"),
        [
            ("half_away", [-3, -2, -1, 1, 2, 3]),
            ("half_even", [-2, -2, 0, 0, 2, 2]),
            ("half_up", [-2, -1, 0, 1, 2, 3]),
        ],
    )
    def test_ties(self, rounding: str, expected: list[int]) -> None:
        ties = [-2.5, -1.5, -0.5, 0.5, 1.5, 2.5]
        actual = quantize_array(ties, Encoding(1.0, 10, "int8"), rounding)
        assert actual.tolist() == [value + 10 for value in expected]

    def test_next_to_a_tie(self) -> None:
        below = np.nextafter(np.float32(0.5), np.float32(0))
        for rounding in ("half_away", "half_even", "half_up"):
            assert quantize_array(below, Encoding(1.0, 0, "int8"), rounding) == 0

    @pytest.mark.parametrize("dtype", ["int8", "uint8", "int16"])
    def test_saturates(self, dtype: str) -> None:
        values = [-math.inf, -3e38, 3e38, math.inf]
        low, high = dtype_range(dtype)
        actual = quantize_array(values, Encoding(1e-3, 1, dtype))
        assert actual.tolist() == [low, low, high, high]
        assert actual.dtype == dtype

    def test_the_division_is_in_float32(self) -> None:
        scale = float(np.float32(4 / 7))  # above 4/7, so 6 / scale is below 10.5
        assert 6 / scale < 10.5
        assert quantize_array(6.0, Encoding(scale, 0, "int8")) == 11

    @pytest.mark.parametrize("shape", [(), (0,), (2, 0, 3), (2, 3, 4)])
    def test_shapes(self, shape: tuple[int, ...]) -> None:
        encoding = Encoding(0.5, 3, "int8")
        quantized = quantize_array(np.ones(shape), encoding)
        assert quantized.shape == dequantize_array(quantized, encoding).shape == shape

    @pytest.mark.parametrize(
        ("call", "message"),
        [
            (lambda: quantize_array([1.0, math.nan], Encoding(1.0, 0, "int8")), "NaN"),
            (lambda: quantize_array([1.0], Encoding(1.0, 0, "int8"), "up"), "rounding must be"),
            (
                lambda: quantize_array(
                    np.ones((2, 3)), PerChannelEncoding([1.0, 1.0], [0, 0], "int8", 1)
                ),
                r"2 channels at axis 1, got \(2, 3\)",
            ),
            (
                lambda: dequantize_array(np.ones(3, np.uint8), Encoding(1.0, 0, "int8")),
                "must be int8 as its encoding, got uint8",
            ),
        ],
    )
    def test_bad(self, call: Any, message: str) -> None:
        fails(message, call)
