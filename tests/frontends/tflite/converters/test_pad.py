from __future__ import annotations

import numpy as np
import pytest

from frontends.tflite import from_tflite
from frontends.tflite.quantization import Quantization
from qnn_ops import QnnError
from tests.support.tflite import Sheet, random_quantization

WIDTHS = np.array([[0, 0], [1, 2], [0, 3], [2, 0]], np.int32)


@pytest.mark.parametrize("dtype", ["uint8", "int8"])
def test_padding_equals_litert(dtype: str) -> None:
    sheet = Sheet(seed=15)
    for code, widths in [("PAD", WIDTHS), ("PAD", WIDTHS.astype(np.int64)), ("PADV2", WIDTHS)]:
        quantization = random_quantization(sheet.rng, dtype)
        data = sheet.random_input((1, 2, 3, 2), dtype, quantization)
        operands = [data, sheet.constant(widths)]
        if code == "PADV2":
            operands.append(sheet.constant(np.array(77, dtype), quantization))
        sheet.operator(code, operands, ((1,), dtype, quantization))
    sheet.check_reference()
    sheet.check()


def _pad(widths: np.ndarray, value_scale: float) -> bytes:
    sheet = Sheet()
    quantization = Quantization.per_tensor(0.5, 3)
    data = sheet.random_input((2, 3), "int8", quantization)
    value = sheet.constant(np.array(7, np.int8), Quantization.per_tensor(value_scale, 3))
    sheet.operator("PADV2", [data, sheet.constant(widths), value], ((1,), "int8", quantization))
    return sheet.model()


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (_pad(WIDTHS, 0.5), r"paddings must have shape \(2, 2\), got \(4, 2\)"),
        (_pad(WIDTHS[:2], 0.25), r"same scale and zero point, got \(0.25, 3\) and \(0.5, 3\)"),
        (_pad(-WIDTHS[1:3], 0.5), r"pad_width"),
    ],
)
def test_paddings_that_do_not_fit(model: bytes, message: str) -> None:
    with pytest.raises(QnnError, match=message):
        from_tflite(model)
