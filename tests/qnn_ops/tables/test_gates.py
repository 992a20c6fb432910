"""The functions and the normalization of an LSTM's gates, in fixed point."""

import numpy as np
import pytest

from qnn_ops.tables.gates import MOST_BITS, logistic, normalized, tanh, variance_guard

EVERY = np.arange(-(2**15), 2**15)


def test_the_logistic_function_is_close() -> None:
    expected = 2**15 / (1 + np.exp(-EVERY / 2**12))
    assert np.abs(logistic(EVERY) - expected).max() < 8
    assert logistic(np.array([0]))[0] == 2**14


@pytest.mark.parametrize("bits", range(MOST_BITS + 1))
def test_tanh_is_close(bits: int) -> None:
    expected = 2**15 * np.tanh(EVERY / 2 ** (15 - bits))
    found = tanh(EVERY, bits)
    assert np.abs(found - expected).max() < 13
    np.testing.assert_array_equal(found[1:], -found[:0:-1])


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
