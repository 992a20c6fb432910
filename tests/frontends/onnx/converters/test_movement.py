"""Shape, Pad, Tile, Expand, ReverseSequence and SpaceToDepth: data that moves unchanged."""

from __future__ import annotations

from typing import Any

import numpy as np
import tvm
from tvm import relax
from tvm.relax import op as R

from frontends.onnx.graph.graph import Graph
from frontends.onnx.graph_importer import import_graph
from tests.support.modules import module
from tests.support.onnx_graphs import Net, Node, equal, one, refused


def test_sizes_are_constants() -> None:
    nodes: list[Node] = [
        ("Shape", "x", "s", {"start": 1}),
        ("Gather", "s last", "size"),
        ("Cast", "size", "real", {"to": 1}),
        ("Mul", "x real", "y"),
    ]
    model = Net(nodes, {"x": np.zeros((2, 3, 4), np.float32)}, {"last": np.int64(-1)}).model
    mod = import_graph(Graph(model)).mod

    def product(x: Any) -> relax.Expr:
        return R.multiply(x, relax.const(np.float32(4)))

    wanted = module({"x": relax.TensorType((2, 3, 4), "float32")}, product)
    tvm.ir.assert_structural_equal(mod["main"].body, wanted["main"].body, map_free_vars=True)


IMAGES = np.arange(2 * 3 * 4 * 6).reshape(2, 3, 4, 6)
MODES: dict[str, dict[str, Any]] = {"": {}, "DCR": {"mode": "DCR"}, "CRD": {"mode": "CRD"}}
test_equals_onnx_runtime = equal(
    {
        # The later version has modes.
        f"{dtype} {mode}": one(
            "SpaceToDepth", IMAGES.astype(dtype), blocksize=2, opset=28 if mode else 17, **how
        )
        for dtype in ("float32", "uint8")
        for mode, how in MODES.items()
    }
)
test_sizes_that_do_not_fit_are_refused = refused(
    (
        "blocks of 3 in data of shape",
        one("SpaceToDepth", np.zeros((1, 3, 4, 6), np.float32), blocksize=3),
    )
)
