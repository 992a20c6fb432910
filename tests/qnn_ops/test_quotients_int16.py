"""The tables by hand; tests/frontends/tflite/converters/test_division.py compares with LiteRT."""

from __future__ import annotations

import numpy as np
import pytest

from qnn_ops import QnnError
from qnn_ops.quotients_int16 import LOWEST_EXPONENT, quotient_tables_int16


def test_parts_of_a_quotient() -> None:
    tables = quotient_tables_int16(0.5, 0.25, 1.0)
    assert (tables.multiplier, tables.shift) == (1 << 30, 2)
    # 5 / 3: five has 28 bits to spare, and one third is 2/3 of a half.
    assert tables.lifted[2**15 + 5] == 5 << 28
    assert tables.headroom[[2**15 + 5, 2**15 - 4, 2**15 - 5]].tolist() == [28, 29, 28]
    place = 2**15 + 3
    assert tables.bits[place] == 1
    assert abs(tables.inverse[place] / 2**31 - 2 / 3) < 1e-8
    assert tables.sign[[2**15 - 3, 2**15, place]].tolist() == [-1, 0, 1]


def test_processors_shift_by_the_last_bits_of_a_count() -> None:
    tables = quotient_tables_int16(0.5, 0.25, 1.0)
    places = np.array([0, 3, 31, 32, 65, -1]) - LOWEST_EXPONENT
    assert tables.count[places].tolist() == [0, 3, 31, 0, 1, 31]
    assert tables.mask[places].tolist() == [0, 7, 2**31 - 1, -1, 1, -1]


def test_scales_must_go_together() -> None:
    with pytest.raises(QnnError, match="the scales do not go together"):
        quotient_tables_int16(1.0, 1e-20, 1.0)
