from __future__ import annotations

import numpy as np
import pytest

from tests.support.onnx_graphs import compiled, model_of, on_runtime


@pytest.mark.parametrize(
    "dtype", ["uint8", "uint16", "uint32", "uint64", "int8", "int64", "float32"]
)
def test_equals_onnx_runtime(dtype: str) -> None:
    data = {"x": np.array([0, 1, 2, 100, 127], dtype)}
    if not dtype.startswith("uint"):
        data["x"][3:] *= -1
    model = model_of([("Sign", "x", "y", {})], data, [f"y:{dtype}"], {})
    ours, theirs = compiled(model, data)[0], on_runtime(model, data)[0]
    np.testing.assert_array_equal(ours, theirs)
    assert ours.dtype == theirs.dtype
