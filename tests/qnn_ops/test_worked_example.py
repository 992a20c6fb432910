"""Real matrices, quantized, multiplied in integers, dequantized: within the derived error."""

import runpy
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from qnn_ops.arithmetic.encoding import (
    Encoding,
    dequantize_array,
    quantize_array,
    tflite_asymmetric,
)
from qnn_ops.arithmetic.fixed_point import clamp_to, quantize_multiplier
from qnn_ops.arithmetic.output_stages import quantize_down_by_fixed_point

TUTORIAL = Path(__file__).resolve().parents[2] / "tutorials" / "quantized_matmul.py"

# Half a step; the small term is what the float32 scale and the float32 quotient, below 256, may
# add: 256 · 2^-24 each.
HALF = 0.5 + 2.0**-15


def encoded(matrix: np.ndarray, dtype: str) -> tuple[np.ndarray, Encoding]:
    encoding = tflite_asymmetric(float(matrix.min()), float(matrix.max()), dtype)
    return quantize_array(matrix, encoding), encoding


def sums(lhs: np.ndarray, rhs: np.ndarray, lhs_zero: int, rhs_zero: int) -> np.ndarray:
    """Σ (l - zl)(r - zr), the zero points kept out of the inner loop."""
    lhs, rhs = lhs.astype(np.int32), rhs.astype(np.int32)
    corrections = lhs_zero * rhs.sum(0) + rhs_zero * lhs.sum(1, keepdims=True)
    return np.asarray(lhs @ rhs - corrections + lhs.shape[1] * lhs_zero * rhs_zero)


@pytest.mark.parametrize("dtype", ["uint8", "int8"])
@given(
    seed=st.integers(0, 2**32 - 1),
    shape=st.tuples(st.integers(1, 6), st.integers(1, 40), st.integers(1, 6)),
    spreads=st.tuples(st.floats(-8, 8), st.floats(-8, 8)),
    centres=st.tuples(st.floats(-2, 2), st.floats(-2, 2)),
)
def test_error_bound(
    dtype: str,
    seed: int,
    shape: tuple[int, int, int],
    spreads: tuple[float, float],
    centres: tuple[float, float],
) -> None:
    rng = np.random.default_rng(seed)
    rows, depth, columns = shape
    lhs, rhs = (
        ((rng.uniform(-1, 1, size) + centre) * 2.0**spread).astype(np.float32)
        for size, spread, centre in zip(
            [(rows, depth), (depth, columns)], spreads, centres, strict=True
        )
    )
    product = lhs.astype(np.float64) @ rhs.astype(np.float64)

    lhs_quantized, lhs_encoding = encoded(lhs, dtype)
    rhs_quantized, rhs_encoding = encoded(rhs, dtype)
    result_encoding = tflite_asymmetric(float(product.min()), float(product.max()), dtype)

    accumulator = sums(
        lhs_quantized, rhs_quantized, lhs_encoding.zero_point, rhs_encoding.zero_point
    )
    real_multiplier = lhs_encoding.scale * rhs_encoding.scale / result_encoding.scale
    multiplier, shift = quantize_multiplier(real_multiplier)
    # This output stage only scales down. Sums count finer than the result does, unless all of
    # them happen to be close to zero.
    assume(shift <= 0)
    scaled = quantize_down_by_fixed_point(
        accumulator, multiplier, -shift, result_encoding.zero_point
    )
    result = dequantize_array(clamp_to(scaled, dtype), result_encoding)

    off_lhs, off_rhs = HALF * lhs_encoding.scale, HALF * rhs_encoding.scale
    from_operands = (
        off_rhs * np.abs(lhs).sum(1, keepdims=True)
        + off_lhs * np.abs(rhs).sum(0)
        + depth * off_lhs * off_rhs
    )
    steps = HALF + 0.5 * 2.0**shift + np.abs(accumulator) * real_multiplier * 2.0**-31
    bound = from_operands + result_encoding.scale * steps
    assert (np.abs(result - product) <= bound).all()


@given(
    seed=st.integers(0, 2**32 - 1),
    zeros=st.tuples(st.integers(0, 255), st.integers(0, 255)),
    depth=st.integers(1, 300),
)
def test_zero_points_stay_out_of_the_inner_loop(
    seed: int, zeros: tuple[int, int], depth: int
) -> None:
    rng = np.random.default_rng(seed)
    lhs = rng.integers(0, 256, (3, depth), dtype=np.uint8)
    rhs = rng.integers(0, 256, (depth, 2), dtype=np.uint8)
    plain = (lhs.astype(np.int64) - zeros[0]) @ (rhs.astype(np.int64) - zeros[1])
    np.testing.assert_array_equal(sums(lhs, rhs, *zeros), plain)


def test_the_tutorial_shows_what_it_says(capsys: pytest.CaptureFixture[str]) -> None:
    page = runpy.run_path(str(TUTORIAL))
    printed = capsys.readouterr().out
    assert "every error is within its bound: True" in printed

    centred_lhs = page["lhs_quantized"].astype(int) - page["lhs_encoding"].zero_point
    centred_rhs = page["rhs_quantized"].astype(int) - page["rhs_encoding"].zero_point
    np.testing.assert_array_equal(page["accumulator"], centred_lhs @ centred_rhs)
    np.testing.assert_allclose(page["product"], page["lhs"] @ page["rhs"], rtol=1e-5)
    assert (page["error"] == np.abs(page["result"] - page["product"])).all()
    # The errors come near the bound, so it says something.
    assert page["bound"].max() / 10 < page["error"].max() <= page["bound"].max()
