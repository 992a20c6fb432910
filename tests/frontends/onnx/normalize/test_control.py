"""Models without inner graphs: branches and iterations are inlined into the outer graph."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import tvm_qnn as qnn
from frontends.errors import UnsupportedOperatorError
from frontends.onnx import from_onnx
from frontends.onnx.graph.graph import Graph
from frontends.onnx.normalize.control import write_subgraphs
from legalize.passes.fold_qdq import fold_qdq
from tests.support.errors import fails
from tests.support.onnx_graphs import Net, Node, check_equal, on_runtime, pair, subgraph

DATA = {"x": np.arange(-8, 8, dtype=np.float32).reshape(1, 1, 4, 4)}
IS_ONE: list[Node] = [
    ("Shape", "x", "shape"),
    ("Gather", "shape second", "size", {"axis": 0}),
    ("Equal", "size one", "is_one"),
]
CONSTANTS: dict[str, Any] = {
    "second": np.array(1),
    "one": np.array(1),
    "axes": np.array([1]),
    "half": np.float32(0.5),
    "s": np.float32(0.25),
    "z": np.uint8(128),
    "w": np.random.default_rng(0).integers(-127, 128, (4, 3), np.int8),
    "s_w": np.float32(0.125),
    "z_w": np.int8(0),
}


def branch(nodes: Sequence[Node], outputs: str, **constants: Any) -> Any:
    return subgraph(nodes, [], [(name, 1, None) for name in outputs.split()], **constants)


def choice(then: Any, otherwise: Any, outputs: str = "t") -> Node:
    return ("If", "is_one", outputs, {"then_branch": then, "else_branch": otherwise})


SQUEEZED = branch([("Squeeze", "x axes", "inner")], "inner")
AS_IT_IS = branch([("Identity", "x", "same")], "same")


def ops(model: Any) -> list[str]:
    graph = Graph(model)
    write_subgraphs(graph)
    return [node.op_type for node in graph.node]


def test_a_branch_that_follows_from_shapes_is_taken() -> None:
    nodes = [*IS_ONE, choice(SQUEEZED, AS_IT_IS), ("Mul", "t half", "y")]
    model = Net(nodes, DATA, CONSTANTS).model
    assert ops(model) == ["Shape", "Gather", "Equal", "Squeeze", "Mul"]
    check_equal(model, DATA)


def test_the_other_branch_is_taken_for_other_shapes() -> None:
    nodes = [*IS_ONE, choice(SQUEEZED, AS_IT_IS), ("Mul", "t half", "y")]
    model = Net(nodes, DATA, {**CONSTANTS, "one": np.array(2)}).model
    assert ops(model)[3:] == ["Identity", "Mul"]
    check_equal(model, DATA)


def test_groups_in_branches_are_integers() -> None:
    group = branch(
        [
            *pair("x s z", "d"),
            ("DequantizeLinear", "w s_w z_w", "dw"),
            ("MatMul", "d dw", "m"),
            *pair("m s z", "end"),
        ],
        "end",
    )
    nodes = [*IS_ONE, choice(group, AS_IT_IS), ("Mul", "t half", "y")]
    model = Net(nodes, DATA, CONSTANTS).model
    check_equal(model, DATA)
    assert "quantized_dense" in fold_qdq(from_onnx(model)[0]).script()


def test_branches_inside_branches_and_what_they_only_pass_on() -> None:
    inner = branch([("Add", "x shift", "a")], "a", shift=np.float32(3))
    outer = branch([choice(inner, AS_IT_IS, "i"), ("Relu", "i", "r")], "r b", b=np.float32(2))
    other = branch([("Relu", "x", "o"), ("Neg", "x", "n")], "o n")
    nodes = [*IS_ONE, choice(outer, other, "t u"), ("Mul", "t u", "y")]
    model = Net(nodes, DATA, CONSTANTS).model
    assert "If" not in ops(model)
    check_equal(model, DATA)


CHOSEN: list[Node] = [
    ("ReduceMax", "x", "largest", {"keepdims": 0}),
    ("Greater", "largest half", "is_one"),
]


@pytest.mark.parametrize("sign", [1, -1])
def test_the_data_choose(sign: int) -> None:
    first = branch([("Relu", "x", "a"), ("Mul", "a half", "m")], "m a")
    other = branch([("Abs", "x", "b"), ("Tanh", "b", "n")], "n b")
    nodes = [*CHOSEN, choice(first, other, "t u"), ("Add", "t u", "y")]
    data = {"x": np.abs(DATA["x"]) * np.float32(sign)}
    model = Net(nodes, data, CONSTANTS).model
    assert "If" not in ops(model)
    check_equal(model, data)


@pytest.mark.parametrize("sign", [1, -1])
def test_branches_that_the_data_choose_are_groups_apart(sign: int) -> None:
    group = branch(
        [
            ("DequantizeLinear", "w s_w z_w", "dw"),
            ("MatMul", "d dw", "m"),  # of what is dequantized outside: float
            *pair("m s z", "end"),
        ],
        "end",
    )
    inner = branch(
        [
            ("DequantizeLinear", "q s z", "e"),
            ("DequantizeLinear", "w s_w z_w", "dw"),
            ("MatMul", "e dw", "m"),
            *pair("m s z", "end"),
        ],
        "end",
    )
    nodes: list[Node] = [
        *CHOSEN,
        ("QuantizeLinear", "x s z", "q"),
        ("DequantizeLinear", "q s z", "d"),
        choice(group, inner),
        *pair("t half z", "y"),
    ]
    data = {"x": np.abs(DATA["x"]) * np.float32(sign)}
    model = Net(nodes, data, CONSTANTS, ["y"]).model
    with pytest.warns(UserWarning, match="computed in float32"):
        library = qnn.build(from_onnx(model)[0], "host")
    np.testing.assert_array_equal(library.run(data["x"]), on_runtime(model, data)[0])


def test_the_data_choose_within_what_they_choose() -> None:
    inner = branch([choice(branch([("Neg", "x", "n")], "n"), AS_IT_IS, "i")], "i")
    other = branch([("Abs", "x", "b")], "b")
    model = Net([*CHOSEN, choice(inner, other, "y")], DATA, CONSTANTS).model
    assert ops(model).count("Where") == 2
    check_equal(model, DATA)


def test_results_of_other_shapes_are_refused_by_name() -> None:
    nodes = [*CHOSEN, choice(SQUEEZED, AS_IT_IS), ("Mul", "t half", "y")]
    model = Net(nodes, DATA, CONSTANTS).model
    fails(r"If.*results of shapes", from_onnx, model, error=UnsupportedOperatorError)


def test_branches_may_have_the_quantization_of_onnx_runtime() -> None:
    group = branch(pair("x s z", "end"), "end")
    model = Net([*CHOSEN, choice(group, AS_IT_IS, "y")], DATA, CONSTANTS).model
    for attribute in model.graph.node[-1].attribute:
        for node in attribute.g.node:
            if node.op_type.endswith("izeLinear"):
                node.domain = "com.microsoft"
    check_equal(model, DATA)
