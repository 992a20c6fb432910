from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from frontends.errors import UnsupportedOperatorError
from frontends.onnx import from_onnx
from tests.support.onnx_graphs import compiled, model_of, on_runtime

CASES: dict[str, tuple[str, str, dict[str, Any]]] = {
    "bias": ("BiasGelu", "x b", {}),
    "fast": ("FastGelu", "x", {}),
    "fast, with a bias": ("FastGelu", "x b", {}),
    "quick": ("QuickGelu", "x", {}),
    "quick, of a slope": ("QuickGelu", "x", {"alpha": 0.7}),
    "quick, of slope 1": ("QuickGelu", "x", {"alpha": 1.0}),
}


@pytest.mark.parametrize("case", CASES)
def test_near_onnx_runtime(case: str) -> None:
    """Its error function, tangent and sigmoid are sums of products in an order of their own."""
    op, operands, attributes = CASES[case]
    rng = np.random.default_rng(1)
    data = {"x": rng.normal(0, 2, (7, 33)).astype(np.float32)}
    constants = {"b": rng.normal(0, 1, 33).astype(np.float32)} if "b" in operands.split() else {}
    model = model_of([(op, operands, "y", attributes)], data, ["y"], constants)
    ours, theirs = compiled(model, data)[0], on_runtime(model, data)[0]
    np.testing.assert_allclose(ours, theirs, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("operands", ["b", "x b b"])
def test_operands_that_are_not_the_operators(operands: str) -> None:
    data = {"x": np.ones((7, 33), np.float32)}
    model = model_of([("BiasGelu", "x b", "y", {})], data, ["y"], {"b": np.ones(33, np.float32)})
    node = model.graph.node[0]
    del node.input[:]
    node.input.extend(operands.split())
    with pytest.raises(UnsupportedOperatorError, match="BiasGelu"):
        from_onnx(model)
