from __future__ import annotations

import numpy as np
import pytest

from frontends.tflite import from_tflite
from frontends.tflite.quantization import Quantization
from qnn_ops import QnnError
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
    with pytest.raises(QnnError, match="operator 0 QUANTIZE: from int32 to uint8"):
        from_tflite(sheet.model())


def test_results_without_quantization() -> None:
    sheet = Sheet()
    data = sheet.input(np.zeros((2,), np.int8), Quantization.per_tensor(0.5, 0))
    sheet.operator("QUANTIZE", [data], ((2,), "int8", None))
    with pytest.raises(QnnError, match="tensor 1 'y2' is int8 without a scale and zero point"):
        from_tflite(sheet.model())


@pytest.mark.parametrize("scale", [0.0, -0.5, np.inf])
def test_a_scale_that_is_read_must_be_positive(scale: float) -> None:
    sheet = Sheet()
    odd = Quantization(np.array([scale], np.float32), np.zeros(1, np.int64))
    data = sheet.input(np.zeros(3, np.int32), odd)
    sheet.operator("QUANTIZE", [data], ((3,), "int8", Quantization.per_tensor(0.5, 0)))
    with pytest.raises(QnnError, match="needs a positive number"):
        from_tflite(sheet.model())
