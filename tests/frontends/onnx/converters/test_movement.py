"""Shape, Pad, Tile, Expand, ReverseSequence and SpaceToDepth: data that moves unchanged."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tvm
from tvm import relax
from tvm.relax import op as R

from frontends.errors import UnsupportedOperatorError
from frontends.onnx import from_onnx
from frontends.onnx.graph.graph import Graph
from frontends.onnx.graph_importer import import_graph
from tests.support.modules import module
from tests.support.onnx_graphs import Node, check_equal, model_of


def test_sizes_are_constants() -> None:
    nodes: list[Node] = [
        ("Shape", "x", "s", {"start": 1}),
        ("Gather", "s last", "size", {}),
        ("Cast", "size", "real", {"to": 1}),
        ("Mul", "x real", "y", {}),
    ]
    model = model_of(nodes, {"x": np.zeros((2, 3, 4), np.float32)}, ["y"], {"last": np.int64(-1)})
    mod = import_graph(Graph(model)).mod

    def product(x: Any) -> relax.Expr:
        return R.multiply(x, relax.const(np.float32(4)))

    wanted = module({"x": relax.TensorType((2, 3, 4), "float32")}, product)
    tvm.ir.assert_structural_equal(mod["main"].body, wanted["main"].body, map_free_vars=True)


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
