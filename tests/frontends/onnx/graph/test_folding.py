import numpy as np

from frontends.errors import ModelFormatError
from frontends.onnx.graph.folding import fold
from frontends.onnx.graph.graph import Graph
from frontends.onnx.graph.shapes import with_shapes
from tests.support.errors import fails
from tests.support.onnx_graphs import Net, Node

CHAIN: list[Node] = [
    ("Shape", "x", "shape"),
    ("Gather", "shape first", "batch"),
    ("Unsqueeze", "batch axis", "batches"),
    ("Concat", "batches rest", "target", {"axis": 0}),
    ("Reshape", "x target", "z"),
    ("Shape", "z", "whole"),
    ("ConstantOfShape", "whole", "zeros"),
    ("Expand", "half target_of_half", "halves"),
    ("Add", "z zeros", "sum"),
    ("Mul", "sum halves", "y"),
]
CONSTANTS = {
    "first": np.array(0),
    "axis": np.array([0]),
    "rest": np.array([-1, 3]),
    "half": np.float32(0.5),
    "target_of_half": np.array([1, 1, 3]),
}


def test_what_follows_from_shapes_is_constant() -> None:
    data = {"x": np.arange(24, dtype=np.float32).reshape(2, 12)}
    net = Net(CHAIN, data, CONSTANTS)
    folded = with_shapes(net.model, None)
    fold(folded)
    assert [node.op_type for node in folded.node] == ["Reshape", "Add", "Mul"]
    net.check()


def test_shapes_may_be_given() -> None:
    data = {"x": np.arange(24, dtype=np.float32).reshape(2, 12)}
    model = Net(CHAIN, data, CONSTANTS).model
    model.graph.input[0].type.tensor_type.shape.dim[0].dim_param = "batch"
    folded = with_shapes(model, {"x": (5, 12)})
    fold(folded)
    np.testing.assert_array_equal(folded.constants["target"], [5, -1, 3])


def test_what_is_large_stays() -> None:
    data = {"x": np.zeros((2, 3), np.float32)}
    constants = {"large": np.array([400, 400])}
    nodes: list[Node] = [
        ("ConstantOfShape", "large", "zeros"),
        ("ReduceMean", "zeros", "mean", {"keepdims": 0}),
        ("Add", "x mean", "y"),
    ]
    folded = with_shapes(Net(nodes, data, constants).model, None)
    fold(folded)
    assert [node.op_type for node in folded.node] == [op for op, *_ in nodes]


def test_a_constant_of_no_known_dtype_is_told() -> None:
    model = Net(CHAIN, {"x": np.zeros((2, 12), np.float32)}, CONSTANTS).model
    model.graph.initializer[0].data_type = 65536
    fails("its dtype 65536 is unknown", fold, Graph(model), error=ModelFormatError)
