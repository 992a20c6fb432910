"""CUMSUM."""

from __future__ import annotations

import pytest

from frontends.tflite import from_tflite
from frontends.tflite.quantization import Quantization
from qnn_ops import QnnError
from tests.support.tflite import Sheet

Q = Quantization.per_tensor(0.5, 3)
ANY = (1,)  # a declared shape: LiteRT works shapes out by itself


@pytest.mark.parametrize("dtype", ["int32", "int64", "float32"])
@pytest.mark.parametrize("exclusive", [False, True])
def test_running_sums_equal_litert(dtype: str, exclusive: bool) -> None:
    sheet = Sheet(seed=11)
    numbers = sheet.rng.normal(0, 1e9, (3, 13)).astype(dtype)
    data = sheet.input(numbers)
    for axis, reverse in ((1, False), (-2, True), (-1, True)):
        options = {"exclusive": exclusive, "reverse": reverse}
        sheet.operator("CUMSUM", [data, sheet.constant(axis)], (ANY, dtype, None), **options)
    sheet.check()


def test_other_types_are_refused() -> None:
    sheet = Sheet()
    data = sheet.random_input((2, 3), "int8", Q)
    sheet.operator("CUMSUM", [data, sheet.constant(1)], (ANY, "int8", Q))
    with pytest.raises(QnnError, match="of int8"):
        from_tflite(sheet.model())
