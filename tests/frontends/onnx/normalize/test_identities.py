import numpy as np

from frontends.errors import UnsupportedOperatorError
from frontends.onnx.graph.graph import Graph
from frontends.onnx.normalize.identities import drop_identity
from tests.support.onnx_graphs import Net, Node, pair, refused


def test_identities_go_as_in_onnx_runtime() -> None:
    # Between two pairs of QuantizeLinear and DequantizeLinear one would hide that they are pairs.
    pairs = [("x", "a"), ("a", "b"), ("b", "y")]
    nodes: list[Node] = [*(("Identity", *names) for names in pairs), ("Relu", "b", "z")]
    graph = Graph(Net(nodes, {}).model)
    graph.apply(drop_identity)
    found = [(node.op_type, node.input[0], node.output[0]) for node in graph.node]
    assert found == [("Identity", "x", "y"), ("Relu", "x", "z")]


test_a_relu_before_no_zero_point = refused(
    (
        "QuantizeLinear: it has 1 scales and 0 zero points",
        Net(
            [("Relu", "x", "r"), *pair("r s z", "y")],
            {"x": np.zeros(4, np.float32)},
            {"s": np.float32(0.5), "z": np.zeros(0, np.uint8)},
        ),
    ),
    error=UnsupportedOperatorError,
)
