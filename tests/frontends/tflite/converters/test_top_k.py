"""TOPK_V2."""

from __future__ import annotations

import pytest

from frontends.tflite import from_tflite
from frontends.tflite.quantization import Quantization
from qnn_ops import QnnError
from tests.support.tflite import Sheet

Q = Quantization.per_tensor(0.5, 3)
ANY = (1,)  # a declared shape: LiteRT works shapes out by itself


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "float32"])
def test_the_largest_equal_litert(dtype: str) -> None:
    sheet = Sheet(seed=12)
    encoding = Q if dtype.endswith("int8") else None
    # Few different values: most are ties.
    data = sheet.input(sheet.rng.integers(0, 6, (3, 2, 20)).astype(dtype), encoding)
    for count in (1, 7, 20):
        results = [(ANY, dtype, encoding), (ANY, "int32", None)]
        sheet.operator("TOPK_V2", [data, sheet.constant(count)], *results)
    sheet.check()


def test_long_rows_equal_litert() -> None:
    sheet = Sheet(seed=13)
    data = sheet.random_input((1, 20_000), "uint8", Q)
    sheet.operator("TOPK_V2", [data, sheet.constant(9)], (ANY, "uint8", Q), (ANY, "int32", None))
    sheet.check()


def test_a_row_must_have_as_many() -> None:
    sheet = Sheet()
    data = sheet.random_input((2, 3), "int8", Q)
    results = [(ANY, "int8", Q), (ANY, "int32", None)]
    sheet.operator("TOPK_V2", [data, sheet.constant(4)], *results)
    with pytest.raises(QnnError, match="4 elements of rows"):
        from_tflite(sheet.model())
