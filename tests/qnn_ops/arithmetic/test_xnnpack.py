"""XNNPACK's arithmetic, by hand; tests/frontends/torch holds it to the delegate itself."""

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from qnn_ops import quantize, quantized_add, quantized_mean, quantized_multiply, quantized_subtract
from qnn_ops.arithmetic.xnnpack import clamp_table
from qnn_ops.errors import QnnError

XNNPACK: dict[str, Any] = {"arithmetic": "xnnpack"}
F = np.float32
VALUES = np.arange(-128, 128).astype(np.int8)


def test_sums_round_ties_up() -> None:
    lhs = np.array([-3, -2, -1, 0, 1, 2, 3], np.int8)
    zero = np.zeros_like(lhs)
    result = quantized_add.evaluate(lhs, zero, 0.5, 0, 0.5, 0, 1.0, 0, "int8", **XNNPACK)
    assert result.tolist() == [-1, -1, 0, 0, 1, 1, 2]


def test_differences_round_ties_up() -> None:
    rhs = np.array([-3, -2, -1, 0, 1, 2, 3], np.int8)
    zero = np.zeros_like(rhs)
    result = quantized_subtract.evaluate(zero, rhs, 0.5, 0, 0.5, 0, 1.0, 0, "int8", **XNNPACK)
    assert result.tolist() == [2, 1, 1, 0, 0, -1, -1]


def test_sums_are_nearest_where_no_tie_is_near() -> None:
    encodings = (0.0371, 9, 0.0213, -4, 0.0529, 7)
    result = quantized_add.evaluate(VALUES[:, None], VALUES, *encodings, "int8", **XNNPACK)
    reals = (VALUES[:, None] - 9.0) * 0.0371 + (VALUES + 4.0) * 0.0213
    steps = reals / 0.0529
    is_near = np.abs(steps - np.floor(steps) - 0.5) < 1e-3
    wanted = np.clip(np.rint(steps) + 7, -128, 127)
    np.testing.assert_array_equal(result[~is_near], wanted[~is_near])


@pytest.mark.parametrize("operator", [quantized_add, quantized_subtract])
@pytest.mark.parametrize(("larger", "smaller"), [(2.0**-11, 2.0**-12), (256.0, 1.0)])
def test_sums_need_near_scales(operator: Any, larger: float, smaller: float) -> None:
    with pytest.raises(QnnError, match=r"XNNPACK adds where the larger quotient is from 2\^-10 to"):
        operator.evaluate(VALUES, VALUES, larger, 0, smaller, 0, 1.0, 0, "int8", **XNNPACK)


@pytest.mark.parametrize("operator", [quantized_add, quantized_subtract])
@pytest.mark.parametrize("smaller", [2.0**-10.5, 2.0**-16, 2.0**-24])
def test_the_smaller_operand_of_a_sum_may_be_of_any_scale(operator: Any, smaller: float) -> None:
    result = operator.evaluate(
        VALUES[:, None], VALUES, 1.0, 0, smaller, 0, 1.0, 0, "int8", **XNNPACK
    )
    assert result.tolist() == np.broadcast_to(VALUES[:, None], result.shape).tolist()


def test_products_round_half_to_even_before_the_zero_point() -> None:
    result = quantized_multiply.evaluate(
        VALUES, np.ones_like(VALUES), 0.5, 0, 1.0, 0, 1.0, 1, "int8", **XNNPACK
    )
    wanted = [min(round(Fraction(int(value), 2)) + 1, 127) for value in VALUES]
    assert result.tolist() == wanted


def test_quantize_multiplies() -> None:
    scale = float(F(0.0371))
    ties = ((np.arange(-100, 100) + 0.5) * scale).astype(F)
    result = quantize.evaluate(ties, scale, 0, "int8", **XNNPACK)
    np.testing.assert_array_equal(result, np.rint(ties * (F(1) / F(scale))))
    divided = quantize.evaluate(ties, scale, 0, "int8", arithmetic="onnxruntime")
    assert (result != divided).any()


def test_quantize_bounds() -> None:
    data = np.array([np.nan, np.inf, -np.inf, 1e30, -1e30, -0.0], F)
    result = quantize.evaluate(data, 0.5, 3, "int8", **XNNPACK)
    assert result.tolist() == [127, 127, -128, 127, -128, 3]


@pytest.mark.parametrize(
    "other", [{"multiplier": 2.0, "out_dtype": "int8"}, {"out_dtype": "int32"}]
)
def test_what_quantize_does_not_take(other: dict[str, Any]) -> None:
    with pytest.raises(QnnError, match="'xnnpack' has no multiplier, and gives 8 or 16 bits"):
        quantize.evaluate(np.zeros(3, F), 0.5, 0, **other, **XNNPACK)


def test_activations_round_after_the_zero_point() -> None:
    table = clamp_table((0.5, 1, "int8"), (1.0, 1, "int8"), (-1.0, math.inf))
    steps = [Fraction(max(int(value) - 1, -2), 2) + 1 for value in VALUES]
    assert table.tolist() == [round(step) for step in steps]


@pytest.mark.parametrize("point", [0, 1])
def test_means_round_after_the_zero_point(point: int) -> None:
    data = np.array([[0, 1], [1, 2], [-1, 0], [-1, -2], [5, 5]], np.int8)
    result = quantized_mean.evaluate(data, 1, False, 0.5, 0, 0.5, point, "int8", **XNNPACK)
    wanted = [round(Fraction(int(row.sum()), 2) + point) for row in data]
    assert result.tolist() == wanted


def test_means_of_moved_bytes_are_the_same() -> None:
    rng = np.random.default_rng(0)
    data = rng.integers(-128, 128, (2000, 14)).astype(np.int8)
    own = quantized_mean.evaluate(data, 1, False, 0.05, 3, 0.05, 3, "int8", **XNNPACK)
    moved = (data.astype(np.int16) + 128).astype(np.uint8)
    result = quantized_mean.evaluate(moved, 1, False, 0.05, 131, 0.05, 131, "uint8", **XNNPACK)
    np.testing.assert_array_equal(result.astype(np.int16) - 128, own)
