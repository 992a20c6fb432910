from __future__ import annotations

import numpy as np

from qnn_ops.softmax_int16 import exp_table_int16, probabilities_int16, reciprocal_table_int16


def test_exponentials_are_near_the_function_down_to_that_of_minus_10() -> None:
    table = exp_table_int16(1e-3, 0.5) * 2.0**-15
    wanted = np.exp(-np.minimum(np.arange(2**16) * 5e-4, 10))
    assert np.abs(table - wanted).max() < 5e-4
    assert table[0] < 1


def test_reciprocals() -> None:
    x = np.arange(2**16) / (2**16 - 1)
    assert np.abs(reciprocal_table_int16() * 2.0**-15 - 1 / (1 + x)).max() < 1e-4


def test_probabilities_add_up_to_about_one() -> None:
    exponentials = np.array([[32767, 32767, 0, 16384]], np.int32)
    total = exponentials.sum(axis=1, keepdims=True, dtype=np.int64)
    result = probabilities_int16(exponentials, total)
    assert result.dtype == np.int16
    np.testing.assert_allclose(result * 2.0**-15, exponentials / total, atol=1e-4)
