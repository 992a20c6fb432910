"""8-bit tensors without a scale, which operators only move, compare or pool."""

from __future__ import annotations

import numpy as np
import pytest

from frontends.tflite import from_tflite
from frontends.tflite.quantization import Quantization
from qnn_ops import QnnError
from tests.support.arrays import full_range
from tests.support.tflite import Sheet

ANY = (1,)
WINDOW = {"padding": "VALID", "stride_h": 1, "stride_w": 1, "filter_height": 2, "filter_width": 2}


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_plain_integers_equal_litert(dtype: str) -> None:
    sheet, result = Sheet(seed=31), (ANY, dtype, None)
    data = sheet.input(full_range(sheet.rng, dtype, (1, 4, 4, 2)))
    other = sheet.input(full_range(sheet.rng, dtype, (1, 4, 4, 2)))
    for code in ("MAXIMUM", "MINIMUM"):
        sheet.operator(code, [data, other], result)
    for code in ("REDUCE_MAX", "REDUCE_MIN"):
        sheet.operator(code, [data, sheet.constant([1])], result)
    for code in ("RESIZE_BILINEAR", "RESIZE_NEAREST_NEIGHBOR"):
        sheet.operator(code, [data, sheet.constant([3, 7])], result)
    for code in ("AVERAGE_POOL_2D", "MAX_POOL_2D"):
        sheet.operator(code, [data], result, **WINDOW)
    sheet.operator("CONCATENATION", [data, other, data], result, axis=3)
    widths = sheet.constant([[0, 0], [1, 0], [0, 2], [0, 0]])
    sheet.operator("PAD", [data, widths], result)
    sheet.operator("PADV2", [data, widths, sheet.constant(np.array(9, dtype))], result)
    sheet.check()


def test_signs_of_integers_need_no_scale() -> None:
    sheet = Sheet(seed=32)
    words = sheet.input(full_range(sheet.rng, "int16", (3, 5)))
    numbers = sheet.input(full_range(sheet.rng, "int8", (3, 5)))
    sheet.operator("ABS", [words], (ANY, "int16", None))
    sheet.operator("NEG", [words], (ANY, "int16", None))
    sheet.operator("NEG", [numbers], (ANY, "int8", None))
    sheet.check()


def test_scales_are_stated_of_all_tensors_or_of_none() -> None:
    sheet = Sheet()
    data = sheet.input(np.zeros((2, 3), np.int8))
    sheet.operator("MAXIMUM", [data, data], (ANY, "int8", Quantization.per_tensor(1.0, 0)))
    with pytest.raises(QnnError, match="'x1' is int8 but the file states no scale"):
        from_tflite(sheet.model())


def test_activations_need_a_scale() -> None:
    sheet = Sheet()
    data = sheet.input(np.zeros((1, 4, 4, 2), np.int8))
    options = {**WINDOW, "fused_activation_function": "RELU6"}
    sheet.operator("MAX_POOL_2D", [data], (ANY, "int8", None), **options)
    with pytest.raises(QnnError, match="'x1' is int8 but the file states no scale"):
        from_tflite(sheet.model())
