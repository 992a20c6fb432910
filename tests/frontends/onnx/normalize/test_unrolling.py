"""Loop and Scan with a known number of iterations, against ONNX Runtime."""

from typing import Any

import numpy as np
import pytest

import tvm_qnn as qnn
from frontends.errors import UnsupportedOperatorError
from frontends.onnx import from_onnx
from frontends.onnx.graph.graph import Graph
from frontends.onnx.normalize.control import write_subgraphs
from frontends.onnx.source import OnnxSource
from tests.support.onnx_graphs import Net, Node, check_equal, on_runtime, pair, subgraph

DATA = {"x": np.random.default_rng(1).normal(0, 2, (5, 3, 4)).astype(np.float32)}
FLOAT, INT, BOOL = 1, 7, 9


LOOP = subgraph(
    [
        ("Gather", "x turn", "row", {"axis": 0}),
        ("Mul", "sum half", "less"),
        ("Add", "less row", "sum_out"),
        ("Tanh", "sum_out", "bent"),
        ("Identity", "goes", "goes_out"),
    ],
    [("turn", INT, ()), ("goes", BOOL, ()), ("sum", FLOAT, (3, 4))],
    [("goes_out", BOOL, ()), ("sum_out", FLOAT, (3, 4)), ("bent", FLOAT, (3, 4))],
    half=np.float32(0.5),
)
START = {"zero": np.zeros((3, 4), np.float32), "true": np.array(True)}


def written(model: Any) -> Graph:
    graph = Graph(model)
    write_subgraphs(graph)
    return graph


def ops(model: Any) -> list[str]:
    return [node.op_type for node in written(model).node]


@pytest.mark.parametrize("opset", [11, 17])
@pytest.mark.parametrize("condition", ["true", "_"])
def test_loops_with_a_number_of_turns(opset: int, condition: str) -> None:
    nodes = [("Loop", f"four {condition} zero", "end all", {"body": LOOP})]
    constants = {**START, "four": np.array(4)}
    model = Net(nodes, DATA, constants, opset=opset).model
    assert "Loop" not in ops(model)
    assert ops(model).count("Tanh") == 4
    (operator,) = OnnxSource(model).summary("loop").operators
    assert not operator.reason
    end, all_turns = check_equal(model, DATA)
    assert all_turns.shape == (4, 3, 4)
    assert end.any()


def test_the_number_may_follow_from_shapes() -> None:
    nodes: list[Node] = [
        ("Shape", "x", "shape"),
        ("Gather", "shape first", "count", {"axis": 0}),
        ("Loop", "count true zero", "end", {"body": LOOP}),
    ]
    # It has fewer results than its body.
    nodes[-1] = ("Loop", "count true zero", "end all", {"body": LOOP})
    constants = {**START, "first": np.array(0)}
    model = Net(nodes, DATA, constants, ["end"]).model
    assert ops(model).count("Tanh") == 5
    check_equal(model, DATA)


def test_no_turn() -> None:
    only = subgraph(
        [("Add", "sum x", "sum_out"), ("Identity", "goes", "goes_out")],
        [("turn", INT, ()), ("goes", BOOL, ()), ("sum", FLOAT, (5, 3, 4))],
        [("goes_out", BOOL, ()), ("sum_out", FLOAT, (5, 3, 4))],
    )
    for count, goes in ((0, True), (-3, True), (7, False)):
        constants = {"count": np.array(count), "goes_on": np.array(goes)}
        nodes = [("Loop", "count goes_on x", "end", {"body": only})]
        model = Net(nodes, DATA, constants).model
        assert "Add" not in ops(model)
        check_equal(model, DATA)


def test_results_of_turns_that_the_data_tell_are_refused_by_name() -> None:
    nodes: list[Node] = [
        ("Cast", "n", "count", {"to": INT}),
        ("Loop", "count true zero", "end all", {"body": LOOP}),
    ]
    data = {**DATA, "n": np.full(1, 3, np.float32)}
    model = Net(nodes, data, START, ["end"]).model
    assert OnnxSource(model).summary("loop").operators[1].reason
    with pytest.raises(UnsupportedOperatorError, match="Loop: it has results of all iterations"):
        from_onnx(model)


def test_constants_of_a_body_are_there_once() -> None:
    nodes = [("Loop", "four true zero", "end all", {"body": LOOP})]
    model = Net(nodes, DATA, {**START, "four": np.array(4)}, ["end"]).model
    assert sum(name.endswith("half") for name in written(model).constants) == 1


def test_many_turns_are_a_loop() -> None:
    only = subgraph(
        [("Add", "sum one", "sum_out"), ("Identity", "goes", "goes_out")],
        [("turn", INT, ()), ("goes", BOOL, ()), ("sum", FLOAT, (5, 3, 4))],
        [("goes_out", BOOL, ()), ("sum_out", FLOAT, (5, 3, 4))],
        one=np.float32(1),
    )
    nodes = [("Loop", "count true x", "end", {"body": only})]
    model = Net(nodes, DATA, {**START, "count": np.array(5000)}).model
    assert "Loop" in ops(model)
    (operator,) = OnnxSource(model).summary("loop").operators
    assert not operator.reason
    check_equal(model, DATA)


SCAN = subgraph(
    [("Mul", "sum half", "less"), ("Add", "less row", "sum_out"), ("Sub", "sum_out other", "list")],
    [("sum", FLOAT, (3, 4)), ("row", FLOAT, (3, 4)), ("other", FLOAT, (3, 4))],
    [("sum_out", FLOAT, (3, 4)), ("list", FLOAT, (3, 4))],
    half=np.float32(0.5),
)


@pytest.mark.parametrize(
    "attributes",
    [
        {},
        {"scan_input_directions": [0, 1]},
        {"scan_output_axes": [1], "scan_output_directions": [1]},
        {"scan_input_axes": [0, 2]},
    ],
    ids=str,
)
def test_scans(attributes: dict[str, Any]) -> None:
    shape = (3, 4, 5) if "scan_input_axes" in attributes else (5, 3, 4)
    data = {**DATA, "y": np.random.default_rng(2).normal(0, 2, shape).astype(np.float32)}
    node = ("Scan", "zero x y", "end all", {"body": SCAN, "num_scan_inputs": 2, **attributes})
    model = Net([node], data, START).model
    assert "Scan" not in ops(model)
    check_equal(model, data)


def test_groups_in_turns_are_integers_but_not_across_their_ends() -> None:
    rng = np.random.default_rng(3)
    constants = {
        "s": np.float32(0.0625),
        "z": np.uint8(120),
        "w": rng.integers(-127, 128, (4, 4), np.int8),
        "s_w": np.float32(0.01),
        "z_w": np.int8(0),
        "three": np.array(3),
        "true": np.array(True),
    }
    turn = subgraph(
        [
            ("DequantizeLinear", "q s z", "d"),
            ("DequantizeLinear", "w s_w z_w", "dw"),
            ("MatMul", "d dw", "m"),
            *pair("m s z", "given"),
            ("Add", "given outer", "more"),
            ("QuantizeLinear", "more s z", "q_out"),
            ("Identity", "goes", "goes_out"),
        ],
        [("turn", INT, ()), ("goes", BOOL, ()), ("q", 2, (5, 3, 4))],
        [("goes_out", BOOL, ()), ("q_out", 2, (5, 3, 4))],
    )
    nodes: list[Node] = [
        ("QuantizeLinear", "x s z", "begin"),
        ("DequantizeLinear", "begin s z", "outer"),
        ("Loop", "three true begin", "end", {"body": turn}),
        ("DequantizeLinear", "end s z", "y"),
    ]
    model = Net(nodes, DATA, constants, ["y"]).model
    with pytest.warns(UserWarning, match="computed in float32"):
        library = qnn.build(from_onnx(model)[0], "host")
    np.testing.assert_array_equal(library.run(DATA["x"]), on_runtime(model, DATA)[0])
    assert "quantized_dense" in str(folded(model))


def folded(model: Any) -> Any:
    with pytest.warns(UserWarning, match="computed in float32"):
        return qnn.fold_qdq(from_onnx(model)[0]).script()
