"""FAKE_QUANT."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from frontends.errors import ModelFormatError
from frontends.tflite import from_tflite
from qnn_ops import QnnError
from tests.support.tflite import Sheet

RANGES = [
    *((-1.0, 1.0, 8), (0.0, 6.0, 8), (-6.0, 0.0, 4), (-3.7, 5.2, 16), (-1.3, 0.7, 1)),
    # LiteRT moves such ranges to 0.
    *((0.5, 1.0, 8), (-2.0, -1.0, 8)),
]


def halfway(low: float, high: float, bits: int) -> np.ndarray[Any, Any]:
    """Return numbers at ties between neighbours, and the ones next to them."""
    step = (high - low) / (2**bits - 1)
    ties = (np.arange(-20, 21) * step + step / 2).astype(np.float32)
    return np.concatenate([ties, *(np.nextafter(ties, np.float32(end)) for end in (-9, 9))])


def test_values_equal_litert_s() -> None:
    sheet = Sheet(seed=1)
    odd = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-40, 3e38, -3e38]
    for low, high, bits in RANGES:
        spread = sheet.rng.normal(0, 3, 60)
        numbers = np.concatenate([spread, odd, halfway(low, high, bits)]).astype(np.float32)
        data = sheet.input(numbers)
        options = {"min": low, "max": high, "num_bits": bits}
        sheet.operator("FAKE_QUANT", [data], (numbers.shape, "float32", None), **options)
    sheet.check()


@pytest.mark.parametrize(
    ("dtype", "options", "message"),
    [
        ("int32", {}, "of int32"),
        ("float32", {"narrow_range": True}, "a narrow range"),
        ("float32", {"num_bits": 0}, "num_bits must be 1 to 16, got 0"),
        ("float32", {"num_bits": 17}, "num_bits must be 1 to 16, got 17"),
        ("float32", {"min": 1.0}, "values from 1.0 to 1.0 have no 8 bits"),
        ("float32", {"min": -3e38, "max": 3e38}, "have no 8 bits"),
        ("float32", {"min": 0.0, "max": 1e-38}, "have no 8 bits"),
    ],
)
def test_what_is_refused(dtype: str, options: dict[str, Any], message: str) -> None:
    sheet = Sheet()
    data = sheet.input(np.zeros(3, dtype))
    given = {"min": -1.0, "max": 1.0, "num_bits": 8, **options}
    sheet.operator("FAKE_QUANT", [data], ((3,), dtype, None), **given)
    with pytest.raises(QnnError, match=message):
        from_tflite(sheet.model())


def test_no_range_is_stated() -> None:
    sheet = Sheet()
    sheet.operator("FAKE_QUANT", [sheet.input(np.zeros(3, np.float32))], ((3,), "float32", None))
    with pytest.raises(QnnError, match="num_bits must be 1 to 16"):
        from_tflite(sheet.model())


def test_a_range_must_be_finite() -> None:
    sheet = Sheet()
    data = sheet.input(np.zeros(3, np.float32))
    sheet.operator("FAKE_QUANT", [data], ((3,), "float32", None), max=float("inf"), num_bits=8)
    with pytest.raises(ModelFormatError, match="Max is inf"):
        from_tflite(sheet.model())
