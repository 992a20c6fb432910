from __future__ import annotations

import numpy as np
import pytest

from frontends.errors import UnsupportedOperatorError
from frontends.onnx import from_onnx
from tests.support.onnx_graphs import check_equal, model_of


@pytest.mark.parametrize("mode", [None, "DCR", "CRD"])
@pytest.mark.parametrize("dtype", ["float32", "uint8"])
def test_equals_onnx_runtime(dtype: str, mode: str | None) -> None:
    data = {"x": np.arange(2 * 3 * 4 * 6).reshape(2, 3, 4, 6).astype(dtype)}
    attributes = {"blocksize": 2} | ({"mode": mode} if mode else {})
    opset = 28 if mode else 17  # which version has modes
    check_equal(
        model_of([("SpaceToDepth", "x", "y", attributes)], data, [f"y:{dtype}"], {}, opset), data
    )


def test_sizes_that_do_not_fit_are_refused() -> None:
    data = {"x": np.zeros((1, 3, 4, 6), np.float32)}
    model = model_of([("SpaceToDepth", "x", "y", {"blocksize": 2})], data, ["y"], {})
    model.graph.node[0].attribute[0].i = 3
    del model.graph.output[0].type.tensor_type.shape.dim[:]
    with pytest.raises(UnsupportedOperatorError, match="blocks of 3 in data of shape"):
        from_onnx(model)
