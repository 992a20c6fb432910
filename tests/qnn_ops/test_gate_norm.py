from __future__ import annotations

import numpy as np

from qnn_ops.gate_norm import normalized, variance_guard


def test_rows_are_normalized() -> None:
    rng = np.random.default_rng(0)
    values = rng.integers(-20_000, 20_000, (3, 16))
    weights, scale = np.full(16, 2**14, np.int16), 2.0**-14
    bias = rng.integers(-(2**20), 2**20, 16).astype(np.int32)
    centred = values - values.mean(1, keepdims=True)
    expected = centred / values.std(1, keepdims=True) + bias * scale / 2**10
    found = normalized(values, weights, bias, scale) / 2**12
    np.testing.assert_allclose(found, np.clip(expected, -8, 8 - 2**-12), atol=0.01)


def test_equal_values_are_zero() -> None:
    values = np.full((1, 8), 77)
    found = normalized(values, np.full(8, 2**14, np.int16), np.zeros(8, np.int32), 2.0**-14)
    np.testing.assert_array_equal(found, np.zeros((1, 8)))


def test_a_variance_below_1_is_one_of_the_weights() -> None:
    assert variance_guard(2.0**-14) == 1
    assert variance_guard(0.5) == 5000
