import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qnn_ops.arithmetic.fixed_point import (
    clamp_to,
    multiply_by_quantized_multiplier,
    quantize_multiplier,
)
from qnn_ops.arithmetic.output_stages import (
    quantize_down_by_fixed_point,
    quantize_down_to_uint8_scale,
)
from qnn_ops.errors import QnnError

LOW, HIGH = -(2**31), 2**31 - 1
int32s = st.integers(LOW, HIGH)


def half_away(x: Fraction) -> int:
    return int(math.copysign(1, x)) * math.floor(abs(x) + Fraction(1, 2))


def wrapped(x: int) -> int:
    return (x - LOW) % 2**32 + LOW


class TestFixedPoint:
    @given(int32s, st.integers(2**30, HIGH), st.integers(0, 31), st.integers(-(2**15), 2**15))
    def test_exact(self, acc: int, multiplier: int, right_shift: int, offset: int) -> None:
        high = math.floor(Fraction(acc * multiplier, 2**31) + Fraction(1, 2))
        expected = wrapped(half_away(Fraction(high, 2**right_shift)) + offset)
        assert quantize_down_by_fixed_point(acc, multiplier, right_shift, offset) == expected

    @given(int32s, st.floats(2.0**-31, 0.99))
    def test_is_what_tflite_does_below_one(self, acc: int, real: float) -> None:
        q, shift = quantize_multiplier(real)
        staged = quantize_down_by_fixed_point(acc, q, -shift, 0)
        assert staged == multiply_by_quantized_multiplier(acc, q, shift)

    def test_per_row_and_channel(self) -> None:
        acc = np.arange(-600, 600).reshape(2, 3, 200).astype(np.int32) * 1000
        q, shift = quantize_multiplier(np.array([0.001, 0.0004, 0.02])[:, None])
        together = quantize_down_by_fixed_point(acc, q, -shift, [[7], [8], [9]])
        assert together.dtype == np.int32
        for row in range(3):
            alone = quantize_down_by_fixed_point(acc[:, row], q[row], -shift[row], 7 + row)
            np.testing.assert_array_equal(together[:, row], alone)

    def test_left_shift(self) -> None:
        q, shift = quantize_multiplier(1.5)
        with pytest.raises(QnnError, match=r"exponent must lie within 0\.\.31, got -1"):
            quantize_down_by_fixed_point(1, q, -shift, 0)


class TestLegacy:
    @given(int32s, int32s, int32s, st.integers(0, 31))
    def test_exact_with_int32_wrap(self, acc: int, offset: int, factor: int, shift: int) -> None:
        product = wrapped(wrapped(acc + offset) * factor)
        expected = half_away(Fraction(product, 2**shift))
        assert quantize_down_to_uint8_scale(acc, offset, factor, shift) == expected

    def test_small_numbers(self) -> None:
        acc = np.array([-1000, 0, 127, 128, 1000, 3000])
        scaled = quantize_down_to_uint8_scale(acc, 1000, 20, 8)
        assert scaled.tolist() == [0, 78, 88, 88, 156, 313]  # (acc + 1000) · 20 / 256
        assert scaled.dtype == np.int32

    def test_its_product_overflows_where_the_fixed_point_stage_is_right(self) -> None:
        """A multiplier of 9 bits, and a sum of 23 bits: the product needs 33."""
        acc = np.array([4_194_303, 4_194_304, 8_000_000, 8_388_608])
        factor, shift = 512, 24
        exact = acc * factor / 2**shift
        assert exact.tolist() == pytest.approx([128, 128, 244.14, 256], abs=0.01)

        legacy = clamp_to(quantize_down_to_uint8_scale(acc, 0, factor, shift), "uint8")
        # From 2^31 on the product is negative, and so is clamped to 0; 2^32 wraps to 0 itself.
        assert legacy.tolist() == [128, 0, 0, 0]

        q, negative_shift = quantize_multiplier(factor / 2**shift)
        staged = quantize_down_by_fixed_point(acc, q, -negative_shift, 0)
        assert clamp_to(staged, "uint8").tolist() == [128, 128, 244, 255]

    def test_its_offset_does_not_keep_zero_on_an_integer(self) -> None:
        # Zero means 0.5 in the result's scale here: it rounds, and the rounding is a bias of
        # every padded element. An offset added after scaling is an integer by construction.
        assert quantize_down_to_uint8_scale(0, 1, 1, 1) == 1
        assert quantize_down_by_fixed_point(0, 2**30, 0, 128) == 128
