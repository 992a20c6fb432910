"""Functions of every int16 that TFLite interpolates."""

import numpy as np
import pytest

from qnn_ops.errors import QnnError
from qnn_ops.tables.tables_int16 import (
    EVERY_INT16,
    interpolated,
    logistic_table_int16,
    power_of_two,
    samples,
    tanh_table_int16,
)


def test_lines_lead_from_sample_to_sample() -> None:
    table = np.zeros(513, np.int16)
    table[256], table[257] = 100, 228
    values = interpolated(table)
    assert values.shape == (65536,)
    # The samples of 0 and of 128, and between them one step each.
    assert values[32768 : 32768 + 129].tolist() == list(range(100, 229))


def test_the_last_sample_is_never_reached() -> None:
    table = np.zeros(513, np.int16)
    table[512] = 128
    assert interpolated(table)[-3:].tolist() == [125, 126, 127]


def test_samples_of_a_line_are_on_it() -> None:
    table = samples(lambda x: x, 0.5, 0, 0.5)
    # But that a result has 65536 steps in a range of 65535.
    assert np.abs(interpolated(table).astype(np.int64) - EVERY_INT16).max() <= 2


def test_half_of_the_error_in_the_middle_is_taken_off() -> None:
    # A parabola's chord lies above it: by a quarter of a step's square, here 2 steps of the result.
    table = samples(lambda x: x * x, 128.0**-1, 0, 0.125)
    chord_less_half = [(at * at + 0.25) * 8 - 0.25 * 8 - 1 for at in (0, 1, 2)]
    assert table[256:259].tolist() == chord_less_half


def test_what_is_no_number_is_0() -> None:
    with np.errstate(all="ignore"):
        table = samples(lambda x: np.where(x > 0, np.inf, x).astype(np.float32), 1.0, 0, 1.0)
    assert set(table[300:].tolist()) <= {0, 2**15 - 1}
    assert abs(int(table[10]) - (10 - 256) * 128) <= 2


REAL = np.arange(-(2**15), 2**15)


@pytest.mark.parametrize("scale", [2.0**-12, 2.0**-11, 3e-4, 0.01])
def test_sigmoids_are_near_the_functions(scale: float) -> None:
    x = REAL * scale
    logistic = logistic_table_int16(scale, 2.0**-15) * 2.0**-15
    assert np.abs(logistic - 1 / (1 + np.exp(-x))).max() < 1e-4
    tanh = tanh_table_int16(scale, 2.0**-15) * 2.0**-15
    assert np.abs(tanh - np.tanh(x)).max() < 2e-4


def test_powers_of_two_are_within_a_thousandth_of_their_exponent() -> None:
    assert power_of_two(2.0**-15) == -15
    assert power_of_two(2.0**-15 * 1.0005) == -15
    assert power_of_two(2.0**-15 * 1.001) is None


def test_what_does_not_fit() -> None:
    with pytest.raises(QnnError, match=r"logistic in int16 must have output scale 2\^-15, got 0.5"):
        logistic_table_int16(0.1, 0.5)
