from typing import Any

import numpy as np
import pytest

from frontends.errors import UnsupportedError
from frontends.onnx.graph.graph import Graph
from tests.support.errors import fails
from tests.support.onnx_graphs import Net, Node, onnx

NODES: list[Node] = [("Relu", "x", "a"), ("Add", "a a", "b"), ("Mul", "a c", "y")]
DATA = {"x": np.zeros((2, 3), np.float32)}


def graph_of(nodes: list[Node] = NODES, **constants: Any) -> Graph:
    known = {"c": np.float32(2)} | constants
    return Graph(Net(nodes, DATA, known, ["y"]).model)


def test_knows_what_makes_and_reads_each_tensor() -> None:
    graph = graph_of()
    first, second, third = graph.node
    assert graph.index().made == {"a": first, "b": second, "y": third}
    assert graph.readers == {"x": [first], "a": [second, third], "c": [third]}
    assert graph.uses == {"x": 1, "a": 3, "c": 1, "y": 1}


def test_the_file_stays_as_it_is() -> None:
    model = Net(NODES, DATA, {"c": np.float32(2)}, ["y"]).model
    before, graph = model.SerializeToString(), Graph(model)
    graph.node[0].op_type = "Neg"
    graph.constant(np.zeros(3), "more")
    assert model.SerializeToString() == before
    assert Graph(model).to_proto() == model


def test_a_copy_may_get_other_nodes() -> None:
    graph = graph_of()
    copy = graph.copy()
    copy.node.pop()
    del copy.constants["c"]
    assert len(graph.node) == 3
    assert "c" in graph.constants


def test_new_nodes_have_names_and_constants_of_their_own() -> None:
    graph = graph_of([("Identity", "x", "tvm_qnn_x"), ("Identity", "tvm_qnn_x", "y")])
    for _ in graph.rewritten():
        graph.add("Identity", graph.add("Mul", "x", 2.0), output="y")
    names = [name for node in graph.node for name in node.output if name != "y"]
    assert len({*names, "tvm_qnn_x"}) == 3
    found = [graph.constants[node.input[1]] for node in graph.node if node.op_type == "Mul"]
    assert [(array.dtype, array.shape, array.item()) for array in found] == [("float32", (), 2)] * 2


def test_a_rule_replaces_nodes_keeps_others_and_drops_what_fed_them() -> None:
    graph = graph_of([("Relu", "x", "a"), ("Neg", "a", "b"), ("Abs", "b", "y")])

    def rule(graph: Graph, node: Any) -> bool:
        if node.op_type != "Neg":
            return False
        graph.dropped.add(node.input[0])
        graph.read_instead("b", graph.add("Sub", 0.0, graph.made["a"].input[0]))
        return True

    graph.apply(rule)
    assert [node.op_type for node in graph.node] == ["Sub", "Abs"]
    assert graph.node[1].input[0] == graph.node[0].output[0]


@pytest.mark.parametrize(
    ("value", "dtype"), [(3, "int64"), ([1, -1], "int64"), (0.5, "float32"), (np.int8(1), "int8")]
)
def test_constants_have_the_dtypes_of_their_values(value: Any, dtype: str) -> None:
    graph = graph_of()
    name = graph.constant(value)
    np.testing.assert_array_equal(graph.constants[name], value)
    assert graph.dtype(name) == dtype


def test_shape_inference_does_not_see_large_weights() -> None:
    large, ints = np.zeros((128, 128), np.float32), np.zeros((128, 128), np.int64)
    graph = graph_of(w=large, i=ints)
    given = {each.name: each for each in graph.to_proto(is_hollow=True).graph.initializer}
    assert given["w"].data_location == onnx.TensorProto.EXTERNAL
    assert not given["w"].raw_data
    assert [*given["w"].dims] == [128, 128]
    np.testing.assert_array_equal(onnx.numpy_helper.to_array(given["i"]), ints)


def test_constants_that_nothing_reads_go() -> None:
    graph = graph_of(more=np.float32(1))
    graph.drop_unread_constants()
    assert [*graph.constants] == ["c"]


def test_what_is_not_known_is_told() -> None:
    graph = graph_of()
    assert graph.shape("x") == (2, 3)
    fails("the shape of 'b' must be known", graph.shape, "b", error=UnsupportedError)
    fails("'x' must be a constant", graph.value, "x", error=UnsupportedError)
