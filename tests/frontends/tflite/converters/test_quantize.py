"""QUANTIZE, DEQUANTIZE, FAKE_QUANT and CAST."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from frontends.errors import ModelFormatError
from frontends.tflite.quantization import Quantization
from tests.support.arrays import full_range
from tests.support.tflite import Sheet, random_quantization


def test_conversions_equal_litert() -> None:
    sheet = Sheet(seed=22)
    for source, target in [
        ("int8", "int8"),
        ("int8", "uint8"),
        ("uint8", "int8"),
        ("uint8", "uint8"),
    ]:
        for _ in range(10):
            data = sheet.random_input((4, 64), source, random_quantization(sheet.rng, source))
            result = ((4, 64), target, random_quantization(sheet.rng, target))
            sheet.operator("QUANTIZE", [data], result)
        data = sheet.random_input((4, 64), source, random_quantization(sheet.rng, source))
        sheet.operator("DEQUANTIZE", [data], ((4, 64), "float32", None))
    for target in ("int8", "uint8"):
        for _ in range(10):
            real = sheet.input(sheet.rng.normal(0, 4, (4, 64)).astype(np.float32))
            result = ((4, 64), target, random_quantization(sheet.rng, target))
            sheet.operator("QUANTIZE", [real], result)
    sheet.check_reference()


def test_compiled_conversions_equal_litert() -> None:
    sheet = Sheet(seed=23)
    data = sheet.random_input((4, 64), "uint8", Quantization.per_tensor(0.25, 100))
    sheet.operator("QUANTIZE", [data], ((4, 64), "int8", Quantization.per_tensor(0.5, -3)))
    sheet.operator("DEQUANTIZE", [data], ((4, 64), "float32", None))
    # Quarters of a step: half of the values are ties.
    quarters = sheet.input(np.arange(-64, 64, dtype=np.float32) / 8)
    sheet.operator("QUANTIZE", [quarters], ((128,), "int8", Quantization.per_tensor(0.25, -3)))
    sheet.check()


def test_16_bit_sources_equal_litert() -> None:
    sheet = Sheet(seed=24)
    data = sheet.input(full_range(sheet.rng, "int16", (4, 64)), Quantization.per_tensor(0.0003, 0))
    sheet.operator("QUANTIZE", [data], ((4, 64), "int8", Quantization.per_tensor(0.05, 3)))
    sheet.operator("DEQUANTIZE", [data], ((4, 64), "float32", None))
    sheet.check_reference()


def test_dequantized_constants_per_channel() -> None:
    sheet = Sheet(seed=25)
    scales = np.array([0.5, 0.25, 2.0], np.float32)
    weights = sheet.constant(
        full_range(sheet.rng, "int8", (2, 3)), Quantization(scales, np.zeros(3, np.int64), 1)
    )
    real = sheet.operator("DEQUANTIZE", [weights], ((2, 3), "float32", None))
    data = sheet.input(np.ones((2, 3), np.float32))
    sheet.operator("MUL", [data, real], ((2, 3), "float32", None))
    sheet.check()


def test_scales_by_channel_are_taken_for_0() -> None:
    sheet = Sheet(seed=26)
    scales = Quantization(np.array([0.5, 0.25, 2.0], np.float32), np.zeros(3, np.int64), 1)
    pairs = {
        "int8": ("int8", "uint8", "int16"),
        "uint8": ("int8", "uint8", "int16"),
        "int16": ("int8", "int16", "int32"),
        "int32": ("int8", "int16"),
    }
    for source, targets in pairs.items():
        data = sheet.input(full_range(sheet.rng, source, (2, 3)), scales)
        for target in targets:
            point = 0 if target == "int16" else 7
            result = ((2, 3), target, Quantization.per_tensor(0.3, point))
            sheet.operator("QUANTIZE", [data], result)
    sheet.check()


def test_a_pair_of_types_that_litert_does_not_take() -> None:
    sheet = Sheet()
    data = sheet.input(np.zeros((2,), np.int32), Quantization.per_tensor(0.5, 0))
    sheet.operator("QUANTIZE", [data], ((2,), "uint8", Quantization.per_tensor(0.5, 0)))
    sheet.check_refused("operator 0 QUANTIZE: from int32 to uint8")


def test_results_without_quantization() -> None:
    sheet = Sheet()
    data = sheet.input(np.zeros((2,), np.int8), Quantization.per_tensor(0.5, 0))
    sheet.operator("QUANTIZE", [data], ((2,), "int8", None))
    sheet.check_refused("tensor 1 'y2' is int8 without a scale and zero point")


@pytest.mark.parametrize("scale", [0.0, -0.5, np.inf])
def test_a_scale_that_is_read_must_be_positive(scale: float) -> None:
    sheet = Sheet()
    odd = Quantization(np.array([scale], np.float32), np.zeros(1, np.int64))
    data = sheet.input(np.zeros(3, np.int32), odd)
    sheet.operator("QUANTIZE", [data], ((3,), "int8", Quantization.per_tensor(0.5, 0)))
    sheet.check_refused("needs a positive number")


Q = Quantization.per_tensor(0.5, 3)
ANY = (1,)  # a declared shape: LiteRT works shapes out by itself


TYPES = ("int8", "uint8", "int16", "int32", "int64", "bool", "float32")


@pytest.mark.parametrize("source", TYPES)
def test_casts_equal_litert(source: str) -> None:
    sheet = Sheet(seed=7)
    numbers = np.array([0, 1, -1, 127, -128, 300, -70000, 2**31 - 1, -(2**31)])
    data = sheet.input(numbers.astype(source))
    for dtype in TYPES:
        sheet.operator("CAST", [data], (ANY, dtype, None))
    sheet.check()


def test_floats_saturate_as_in_litert() -> None:
    sheet = Sheet()
    odd = [np.nan, np.inf, -np.inf, 1e10, -1e10, 1e30, -1e30, 127.9, -128.9, 2147483520.0, -0.9]
    data = sheet.input(np.array(odd, np.float32))
    for dtype in TYPES:
        sheet.operator("CAST", [data], (ANY, dtype, None))
    sheet.check()


def test_types_without_a_cast_are_refused() -> None:
    sheet = Sheet()
    data = sheet.input(np.zeros(2, np.float16))
    sheet.operator("CAST", [data], (ANY, "float32", None))
    sheet.check_refused("from float16")


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
    sheet.check_refused(message)


def test_no_range_is_stated() -> None:
    sheet = Sheet()
    sheet.operator("FAKE_QUANT", [sheet.input(np.zeros(3, np.float32))], ((3,), "float32", None))
    sheet.check_refused("num_bits must be 1 to 16")


def test_a_range_must_be_finite() -> None:
    sheet = Sheet()
    data = sheet.input(np.zeros(3, np.float32))
    sheet.operator("FAKE_QUANT", [data], ((3,), "float32", None), max=float("inf"), num_bits=8)
    sheet.check_refused("Max is inf", ModelFormatError)
