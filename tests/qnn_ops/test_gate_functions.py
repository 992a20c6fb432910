from __future__ import annotations

import numpy as np
import pytest

from qnn_ops.gate_functions import MOST_BITS, logistic, tanh

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
