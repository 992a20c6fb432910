"""Sizes of tensors that no earlier pass has folded."""

from __future__ import annotations

from typing import Any

import numpy as np
import tvm
from tvm import relax
from tvm.relax import op as R

from frontends.onnx.graph_importer import import_graph
from tests.support.modules import module
from tests.support.onnx_graphs import Node, model_of


def test_sizes_are_constants() -> None:
    nodes: list[Node] = [
        ("Shape", "x", "s", {"start": 1}),
        ("Gather", "s last", "size", {}),
        ("Cast", "size", "real", {"to": 1}),
        ("Mul", "x real", "y", {}),
    ]
    model = model_of(nodes, {"x": np.zeros((2, 3, 4), np.float32)}, ["y"], {"last": np.int64(-1)})
    mod, _ = import_graph(model)

    def product(x: Any) -> relax.Expr:
        return R.multiply(x, relax.const(np.float32(4)))

    wanted = module({"x": relax.TensorType((2, 3, 4), "float32")}, product)
    tvm.ir.assert_structural_equal(mod["main"].body, wanted["main"].body, map_free_vars=True)
