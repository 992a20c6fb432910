"""Operators that the standard defines by others, against ONNX Runtime."""

from typing import Any

import numpy as np

from frontends.errors import UnsupportedOperatorError
from frontends.onnx import from_onnx
from frontends.onnx.graph.graph import Graph
from frontends.onnx.normalize.standard_functions import write_standard_functions
from frontends.onnx.source import OnnxSource
from tests.support.errors import fails
from tests.support.onnx_graphs import Array, Net, Node, near

REALS = np.random.default_rng(1).normal(0, 2, (2, 4, 6, 8)).astype(np.float32)
ROWS, CLASSES = REALS[0, 0], np.array([0, 7, 3, 3, 1, 5])

Case = tuple[str, dict[str, Array], dict[str, Any], dict[str, Any], int]
CASES: dict[str, Case] = {
    "Swish": ("x", {"x": REALS}, {}, {}, 24),
    "Swish with alpha": ("x", {"x": REALS}, {}, {"alpha": 1.5}, 24),
    "Shrink": ("x", {"x": REALS}, {}, {"lambd": 0.7, "bias": 0.2}, 18),
    "MeanVarianceNormalization": ("x", {"x": REALS}, {}, {"axes": [0, 2, 3]}, 17),
    "NegativeLogLikelihoodLoss": ("x c", {"x": ROWS}, {"c": CLASSES}, {"reduction": "sum"}, 17),
    "SoftmaxCrossEntropyLoss": ("x c", {"x": ROWS}, {"c": CLASSES}, {}, 17),
    "CastLike": ("x t", {"x": REALS}, {"t": np.float32(1)}, {}, 17),
    "HannWindow": ("n", {}, {"n": np.int64(12)}, {}, 17),
}


def net_of(case: str, tail: bool = False) -> Net:
    """Return a model of one operator, perhaps with an addition, and its data."""
    operands, data, constants, attributes, opset = CASES[case]
    operator = case.split()[0]
    nodes: list[Node] = [(operator, operands, "y", attributes)]
    if not data or tail:
        data = data or {"x": np.ones(12, np.float32)}
        nodes.append(("Add", "x y", "z"))
    return Net(nodes, data, constants, opset=opset, standard=[operator])


# Sums have another order, and products are rounded elsewhere.
test_near_onnx_runtime = near({case: net_of(case) for case in CASES}, 2.0**-20)


def test_others_stay() -> None:
    net = Net([("Relu", "x", "y")], {"x": ROWS}).model
    graph = Graph(net)
    write_standard_functions(graph)
    assert graph.to_proto() == net


def test_what_has_no_definition_yet_is_refused() -> None:
    net, _ = net_of("Swish")
    node = net.graph.node[0]
    assert not OnnxSource(net).summary("net").operators[0].reason
    node.op_type = "SwiGLU"
    net.opset_import[0].version = 17
    node.domain = "com.microsoft"
    fails("SwiGLU: no conversion rule", from_onnx, net, error=UnsupportedOperatorError)
