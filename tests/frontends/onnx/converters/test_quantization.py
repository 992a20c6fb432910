"""QuantizeLinear, DequantizeLinear and DynamicQuantizeLinear."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.onnx_graphs import Node, check_equal, model_of


@pytest.mark.parametrize("shape", [(2, 3, 50), (1,), (700,)])
def test_all_three_results(shape: tuple[int, ...]) -> None:
    nodes: list[Node] = [("DynamicQuantizeLinear", "x", "q s z", {})]
    rng = np.random.default_rng(1)
    for data in (rng.normal(0.4, 3, shape), np.abs(rng.normal(1, 2, shape)), np.zeros(shape)):
        inputs = {"x": data.astype(np.float32)}
        check_equal(model_of(nodes, inputs, ["q:uint8", "s", "z:uint8"], {}), inputs)
