"""The tables by hand; tests/frontends/tflite/converters/test_int16.py compares all with LiteRT."""

from __future__ import annotations

import numpy as np
import pytest

from qnn_ops import QnnError
from qnn_ops.tables_int16 import (
    abs_table_int16,
    leaky_relu_table_int16,
    logistic_table_int16,
    power_of_two,
    rsqrt_table_int16,
    sqrt_table_int16,
    tanh_table_int16,
)

REAL = np.arange(-(2**15), 2**15)


@pytest.mark.parametrize("scale", [2.0**-12, 2.0**-11, 3e-4, 0.01])
def test_sigmoids_are_near_the_functions(scale: float) -> None:
    x = REAL * scale
    logistic = logistic_table_int16(scale, 2.0**-15) * 2.0**-15
    assert np.abs(logistic - 1 / (1 + np.exp(-x))).max() < 1e-4
    tanh = tanh_table_int16(scale, 2.0**-15) * 2.0**-15
    assert np.abs(tanh - np.tanh(x)).max() < 2e-4


def test_magnitudes_and_slopes() -> None:
    assert abs_table_int16(0.5, 0.5)[[0, 1, 32768 - 7]].tolist() == [32767, 32767, 7]
    assert abs_table_int16(0.5, 1.0)[[32768 - 7, 32768 + 6]].tolist() == [4, 3]
    leaky = leaky_relu_table_int16(-0.5, 0.5, 0.5)
    assert leaky[[32768 - 8, 32768, 32768 + 8]].tolist() == [4, 0, 8]


def test_roots() -> None:
    # TFLite rounds roots towards zero.
    assert sqrt_table_int16(1.0, 1.0)[[0, 32768 + 8, 32768 + 9]].tolist() == [0, 2, 3]
    rsqrt = rsqrt_table_int16(1.0, 2.0**-13)[[0, 32768 + 4 * 128]].tolist()
    assert abs(rsqrt[0] - 2**15) < 2
    assert abs(rsqrt[1] - 2**13 / 512**0.5) < 2


def test_powers_of_two_are_within_a_thousandth_of_their_exponent() -> None:
    assert power_of_two(2.0**-15) == -15
    assert power_of_two(2.0**-15 * 1.0005) == -15
    assert power_of_two(2.0**-15 * 1.001) is None


def test_what_does_not_fit() -> None:
    with pytest.raises(QnnError, match=r"logistic in int16 must have output scale 2\^-15, got 0.5"):
        logistic_table_int16(0.1, 0.5)
    with pytest.raises(QnnError, match="input_scale must be positive and finite, got -1"):
        tanh_table_int16(-1.0, 2.0**-15)
    with pytest.raises(QnnError, match="int32 does not hold"):
        leaky_relu_table_int16(0.1, 1.0, 1e-6)
