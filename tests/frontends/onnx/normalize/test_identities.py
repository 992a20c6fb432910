from __future__ import annotations

import pytest

from frontends.onnx.graph.graph import Graph
from frontends.onnx.normalize.identities import drop_identity

onnx = pytest.importorskip("onnx", reason="onnx is not installed")


def test_identities_go_as_in_onnx_runtime() -> None:
    # Between two pairs of QuantizeLinear and DequantizeLinear one would hide that they are pairs.
    pairs = [("x", "a"), ("a", "b"), ("b", "y")]
    nodes = [onnx.helper.make_node("Identity", [first], [then]) for first, then in pairs]
    nodes.append(onnx.helper.make_node("Relu", ["b"], ["z"]))
    outputs = [onnx.helper.make_empty_tensor_value_info(name) for name in "yz"]
    graph = Graph(onnx.helper.make_model(onnx.helper.make_graph(nodes, "", [], outputs)))
    graph.apply(drop_identity)
    found = [(node.op_type, node.input[0], node.output[0]) for node in graph.node]
    assert found == [("Identity", "x", "y"), ("Relu", "x", "z")]
