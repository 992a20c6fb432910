from __future__ import annotations

import numpy as np
import pytest

from tests.support.onnx_graphs import compiled, model_of, on_runtime


@pytest.mark.parametrize("approximate", ["none", "tanh"])
def test_near_onnx_runtime(approximate: str) -> None:
    data = {"x": np.random.default_rng(1).normal(0, 2, (7, 33)).astype(np.float32)}
    model = model_of([("Gelu", "x", "y", {"approximate": approximate})], data, ["y"], {}, opset=20)
    ours, theirs = compiled(model, data)[0], on_runtime(model, data)[0]
    np.testing.assert_allclose(ours, theirs, rtol=1e-6, atol=1e-7)
