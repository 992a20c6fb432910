"""QUANTIZE, DEQUANTIZE, FAKE_QUANT and CAST."""

from typing import Any

import numpy as np
import pytest

from frontends.errors import ModelFormatError
from frontends.tflite.quantization import Quantization
from tests.differential.elementwise import change_encoding, from_reals, to_reals
from tests.support.arrays import full_range
from tests.support.steps import referred
from tests.support.tflite import ANY, Q, Sheet, fixed, given, one, refused, x

test_conversions_equal_litert = referred(change_encoding, from_reals, to_reals)


def test_compiled_conversions_equal_litert() -> None:
    sheet = Sheet(seed=23)
    data = x(4, 64, dtype="uint8", encoding=Quantization.per_tensor(0.25, 100))
    sheet.add("QUANTIZE", data, gives=(ANY, "int8", Quantization.per_tensor(0.5, -3)))
    sheet.add("DEQUANTIZE", data, gives="float32")
    # Quarters of a step: half of the values are ties.
    quarters = given(np.arange(-64, 64) / 8, "float32")
    sheet.add("QUANTIZE", quarters, gives=(ANY, "int8", Quantization.per_tensor(0.25, -3)))
    data = x(4, 64, dtype="int16", encoding=Quantization.per_tensor(0.0003, 0))
    sheet.add("QUANTIZE", data, gives=(ANY, "int8", Quantization.per_tensor(0.05, 3)))
    sheet.add("DEQUANTIZE", data, gives="float32")
    scales = np.array([0.5, 0.25, 2.0], np.float32)
    known = Quantization(scales, np.zeros(3, np.int64), 1)
    weights = fixed(full_range(sheet.rng, "int8", (2, 3)), "int8", known)
    real = sheet.made("DEQUANTIZE", weights, gives="float32")
    sheet.add("MUL", given(np.ones((2, 3)), "float32"), real)
    sheet.check()


@pytest.mark.parametrize("scales", [np.array([0.5, 0.25, 2.0], np.float32), None])
def test_scales_by_channel_or_none_are_taken_for_0(scales: Any) -> None:
    known = None if scales is None else Quantization(scales, np.zeros(3, np.int64), 1)
    pairs = {
        "int8": ("int8", "uint8", "int16"),
        "uint8": ("int8", "uint8", "int16"),
        "int16": ("int8", "int16", "int32"),
        "int32": ("int8", "int16"),
    }
    sheet = Sheet(seed=26)
    for source, targets in pairs.items():
        data = x(2, 3, dtype=source, encoding=known)
        for target in targets:
            result = Quantization.per_tensor(0.3, 0 if target == "int16" else 7)
            sheet.add("QUANTIZE", data, gives=(ANY, target, result))
        if known is None and source != "int32":
            sheet.add("DEQUANTIZE", data, gives="float32")
    sheet.check()


OTHER = Quantization.per_tensor(0.5, 0)


TYPES = ("int8", "uint8", "int16", "int32", "int64", "bool", "float32")


@pytest.mark.parametrize("source", TYPES)
def test_casts_equal_litert(source: str) -> None:
    numbers = np.array([0, 1, -1, 127, -128, 300, -70000, 2**31 - 1, -(2**31)])
    sheet, data = Sheet(seed=7), given(numbers.astype(source), source)
    for dtype in TYPES:
        sheet.add("CAST", data, gives=dtype)
    sheet.check()


def test_floats_saturate_as_in_litert() -> None:
    odd = [np.nan, np.inf, -np.inf, 1e10, -1e10, 1e30, -1e30, 127.9, -128.9, 2147483520.0, -0.9]
    sheet, data = Sheet(), given(odd, "float32")
    for dtype in TYPES:
        sheet.add("CAST", data, gives=dtype)
    sheet.check()


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
        numbers = np.concatenate([spread, odd, halfway(low, high, bits)])
        options = {"min": low, "max": high, "num_bits": bits}
        sheet.add("FAKE_QUANT", given(numbers, "float32"), **options)
    sheet.check()


def _grid(dtype: str = "float32", **options: Any) -> Sheet:
    return one(
        "FAKE_QUANT", x(3, dtype=dtype), **{"min": -1.0, "max": 1.0, "num_bits": 8, **options}
    )


test_what_is_refused = refused(
    ("of int32", _grid("int32")),
    ("a narrow range", _grid(narrow_range=True)),
    ("num_bits must be 1 to 16, got 0", _grid(num_bits=0)),
    ("num_bits must be 1 to 16, got 17", _grid(num_bits=17)),
    ("num_bits must be 1 to 16", one("FAKE_QUANT", x(3, dtype="float32"))),
    ("values from 1.0 to 1.0 have no 8 bits", _grid(min=1.0)),
    ("have no 8 bits", _grid(min=-3e38, max=3e38)),
    ("have no 8 bits", _grid(min=0.0, max=1e-38)),
    (
        "operator 0 QUANTIZE: from int32 to uint8",
        one("QUANTIZE", x(2, dtype="int32", encoding=OTHER), gives=(ANY, "uint8", OTHER)),
    ),
    ("tensor 1 'y2' is int8 without a scale and zero point", one("QUANTIZE", x(2), gives="int8")),
    *(
        (
            "needs a positive number",
            one(
                "QUANTIZE",
                x(3, dtype="int32", encoding=Quantization.per_tensor(scale, 0)),
                gives=(ANY, "int8", Q),
            ),
        )
        for scale in (0.0, -0.5, np.inf)
    ),
    ("from float16", one("CAST", given([0, 0], "float16"), gives="float32")),
)
test_a_range_must_be_finite = refused(
    ("Max is inf", _grid(max=float("inf"))), error=ModelFormatError
)
