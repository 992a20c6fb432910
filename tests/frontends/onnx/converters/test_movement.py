"""Shape, Pad, Tile, Expand, ReverseSequence and SpaceToDepth: data that moves unchanged."""

from typing import Any

import numpy as np
import pytest
import tvm
from tvm import relax
from tvm.relax import op as R

import tvm_qnn as qnn
from frontends.errors import UnsupportedOperatorError
from frontends.onnx import from_onnx
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


RNG = np.random.default_rng(0)
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
        "SpaceToDepth: blocks of 3 in data of shape",
        one("SpaceToDepth", np.zeros((1, 3, 4, 6), np.float32), blocksize=3),
    ),
    error=UnsupportedOperatorError,
)


def sequences(batch: int, count: int) -> Net:
    """Return a model of sequences along one of the first two axes."""
    shape = (count, 4, 5) if batch == 0 else (4, count, 5)
    data, lengths = RNG.normal(size=shape).astype(np.float32), RNG.integers(0, 5, count)
    return one("ReverseSequence", data, lengths, batch_axis=batch, time_axis=1 - batch)


@pytest.mark.parametrize("batch", [0, 1])
def test_an_open_number_of_sequences_is_reversed(batch: int) -> None:
    shape = ("b", 4, 5) if batch == 0 else (4, "b", 5)
    shapes: Any = {"x0": shape, "x1": ("b",), "b": range(1, 9)}
    mod, params = from_onnx(sequences(batch, 3).model, shapes)
    library = qnn.build(mod, "host", params)
    for count in (1, 3, 8):
        net = sequences(batch, count)
        np.testing.assert_array_equal(library.run(*net.data.values()), net.theirs()[0])
