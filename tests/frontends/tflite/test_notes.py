from __future__ import annotations

import warnings

import numpy as np
import pytest

from frontends.tflite import NotQuantizedWarning, from_tflite
from frontends.tflite.quantization import Quantization
from tests.support.tflite import Sheet
from tvm_qnn import build
from tvm_qnn.oracle import litert_tensors


def test_a_model_of_float32_alone_is_imported_like_any_other_with_one_note() -> None:
    sheet = Sheet(seed=7)
    data = sheet.input(sheet.rng.normal(size=(2, 3, 4)).astype(np.float32))
    forms: list[tuple[list[object], tuple[int, ...]]] = [
        ([[0, 1, 2], [1, 2, 3]], (2,)),
        ([[0, 1], [1, 2]], (2, 4)),
        ([[[1]], [[0]]], (2, 1, 3, 4)),
    ]
    for places, shape in forms:
        sheet.operator("GATHER_ND", [data, sheet.constant(places)], (shape, "float32", None))
    rows = sheet.input(sheet.rng.integers(-4, 5, (2, 6)).astype(np.float32))
    weights = sheet.constant(sheet.rng.integers(-4, 5, (3, 6)).astype(np.float32))
    sheet.operator("FULLY_CONNECTED", [rows, weights, -1], ((2, 3), "float32", None))
    model = sheet.model()
    with pytest.warns(NotQuantizedWarning, match="no tensor of this model is quantized") as caught:
        mod, params = from_tflite(model)
    assert len(caught) == 1
    results = build(mod, "llvm", params).run(*sheet.arrays).values()
    expected = litert_tensors(model, sheet.arrays).values()
    for result, wanted in zip(results, expected, strict=True):
        np.testing.assert_array_equal(result, wanted)


@pytest.mark.parametrize("dtype", ["int8", "float16", "int32"])
def test_other_models_have_no_such_note(dtype: str) -> None:
    sheet = Sheet()
    encoding = Quantization.per_tensor(1.0, 0) if dtype == "int8" else None
    data = sheet.input(np.ones(3, dtype), encoding)
    result = "int32" if dtype == "int32" else "float32"
    code = "ABS" if dtype == "int32" else "DEQUANTIZE"
    sheet.operator(code, [data], ((3,), result, None))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        from_tflite(sheet.model())
