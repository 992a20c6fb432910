"""Constants: those of a file, those that are given at import, and the numbers of a Range."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

import tvm_qnn as qnn
from frontends.errors import ModelFormatError
from frontends.onnx import from_onnx
from frontends.onnx.read.constants import constants_of, move_constants
from legalize.passes.fold_qdq import FoldQdq
from qnn_ops import quantized_conv2d
from qnn_ops.arrays import Array
from qnn_ops.dialect.registry import constant_of, operator_of
from tests.support.errors import failing, fails
from tests.support.onnx_graphs import Net, check_equal, on_runtime, onnx, pair

X = np.arange(16, dtype=np.float32).reshape(2, 8)
PAST = np.ones((3, 8), np.float32)


def decoder() -> Any:
    """Return a decoder that joins what it is given to a past if it shall."""
    model: Any = onnx.parser.parse_model("""
        <ir_version: 8, opset_import: ["" : 17]>
        g (float[s, 8] x, float[p, 8] past, bool[1] use, int64 rate)
        => (float[n, 8] y, float[k] z) {
            joined = If (use) <
                then_branch = t () => (float[a, 8] j) { j = Concat <axis = 0> (past, x) },
                else_branch = e () => (float[b, 8] i) { i = Identity (x) }
            >
            y = Relu (joined)
            limit = Constant <value = int64 {16000}> ()
            is_known = Equal (rate, limit)
            z = If (is_known) <
                then_branch = q () => (float[c] f) {
                    flat = Constant <value = int64[1] {16}> ()
                    f = Reshape (x, flat)
                },
                else_branch = r () => (float[d] h) {
                    seven = Constant <value = int64[1] {7}> ()
                    h = Reshape (x, seven)
                }
            >
        }
    """)
    return model


def check(values: Mapping[str, Any], inputs: Mapping[str, Array]) -> None:
    """Compare; those of the inputs that are no values have their shapes from here."""
    model, left = decoder(), {name: inputs[name] for name in inputs if name not in values}
    mod, params = from_onnx(model, {k: v.shape for k, v in left.items()}, values=values)
    results = qnn.build(mod, "host", params).run(*left.values()).values()
    for ours, theirs in zip(results, on_runtime(model, inputs), strict=True):
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("use", [True, False])
@pytest.mark.parametrize("past", [PAST, PAST[:0]])
def test_values_choose_branches_and_the_others_need_not_fit(use: bool, past: Array) -> None:
    inputs = {"x": X, "past": past, "use": np.array([use]), "rate": np.array(16000)}
    values = {"use": use, "rate": 16000}
    check(values if past.size else {**values, "past": past}, inputs)


def test_a_loop_whose_turns_are_a_value_is_written_out() -> None:
    model = onnx.parser.parse_model("""
        <ir_version: 8, opset_import: ["" : 17]>
        g (int64 turns, float[2] c) => (float[2] y, float[n, 2] all) {
            y, all = Loop (turns, "", c) <body = b (int64 i, bool go, float[2] a)
                => (bool on, float[2] twice, float[2] each) {
                twice = Add (a, a)
                on = Identity (go)
                each = Identity (twice)
            }>
        }
    """)
    c = np.array([1, 3], np.float32)
    mod, params = from_onnx(model, values={"turns": 5})
    results = qnn.build(mod, "host", params).run(c).values()
    for ours, theirs in zip(
        results, on_runtime(model, {"turns": np.array(5), "c": c}), strict=True
    ):
        np.testing.assert_array_equal(ours, theirs)


test_values_that_do_not_fit_are_refused = failing(
    lambda values: from_onnx(decoder(), values=values),
    ({"used": 1}, "values: no input is named 'used'; there are 'x', 'past', 'use', 'rate'"),
    ({"use": "yes"}, "input 'use' is bool, got 'yes'"),
    ({"use": 2}, "input 'use' is bool, got 2"),
    ({"rate": 0.5}, "input 'rate' is int64, got 0.5"),
    ({"rate": [1, 2]}, r"input 'rate' has the shape \[\], got one of \[2\]"),
    ({"past": PAST[None]}, r"'past' has the shape \['\?', 8\], got one of \[1, 3, 8\]"),
)


def test_constant_nodes_become_initializers() -> None:
    helper = onnx.helper
    values: dict[str, Any] = {
        "value": onnx.numpy_helper.from_array(np.array([3, 4], np.uint8)),
        "value_float": 0.5,
        "value_floats": [0.5, 2.0],
        "value_int": 7,
        "value_ints": [7, -8],
        "value_string": "text",
    }
    nodes = [helper.make_node("Constant", [], [k], **{k: v}) for k, v in values.items()]
    nodes.append(helper.make_node("Relu", ["value_floats"], ["y"]))
    model = helper.make_model(helper.make_graph(nodes, "g", [], []))
    move_constants(model.graph)
    assert [node.output[0] for node in model.graph.node] == ["value_string", "y"]
    found = constants_of(model)
    assert {name: array.tolist() for name, array in found.items()} == {
        "value": [3, 4],
        "value_float": 0.5,
        "value_floats": [0.5, 2.0],
        "value_int": 7,
        "value_ints": [7, -8],
    }
    assert [array.dtype.name for array in found.values()] == [
        *("uint8", "float32", "float32", "int64", "int64")
    ]


def test_a_constant_of_no_known_dtype_is_told() -> None:
    model = onnx.ModelProto()
    tensor = model.graph.initializer.add()
    tensor.name, tensor.data_type = "w", 77
    fails("the constant 'w': its dtype 77 is unknown", constants_of, model, error=ModelFormatError)


def test_sparse_constants_are_named() -> None:
    helper = onnx.helper
    values = onnx.numpy_helper.from_array(np.ones(2, np.float32), "w")
    places = onnx.numpy_helper.from_array(np.array([1, 3]), "w_places")
    graph = helper.make_graph([helper.make_node("Identity", ["w"], ["y"])], "graph", [], [])
    graph.sparse_initializer.append(helper.make_sparse_tensor(values, places, [2, 4]))
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    fails("'w' is sparse", from_onnx, model, error=ModelFormatError)


@pytest.mark.parametrize("op", ["Cast", "Identity", "Mul"])
def test_scales_that_follow_from_constants(op: str) -> None:
    constants: dict[str, Any] = {"t": np.float32(0.3), "u": np.float32(0.1), "z": np.uint8(7)}
    made: tuple[Any, ...] = (op, "t u" if op == "Mul" else "t", "s")
    if op == "Cast":
        constants["t"], made = np.float64(0.03), ("Cast", "t", "s", {"to": 1})
    nodes = [made, *pair("x s z", "r"), ("Add", "r r", "a"), ("QuantizeLinear", "a s z", "y")]
    inputs = {"x": np.random.default_rng(0).normal(1, 2, (4, 9)).astype(np.float32)}
    Net(nodes, inputs, constants).check()


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_weights_that_a_node_quantizes_are_constants(dtype: str) -> None:
    rng = np.random.default_rng(1)
    constants: dict[str, Any] = {
        "w": rng.normal(0, 0.3, (8, 4, 3, 3)).astype(np.float32),
        "s": np.float32(0.02),
        "z": np.uint8(120),
        "t": np.full(8, 0.01, np.float32),
        "u": np.zeros(8, np.int8),
    }
    if dtype == "uint8":  # as of a model whose weights are Constant nodes, to quantize_static
        constants |= {"t": np.float32(0.01), "u": np.uint8(131)}
    axis = {} if dtype == "uint8" else {"axis": 0}
    nodes: list[Any] = [
        *pair("x s z", "d"),
        ("QuantizeLinear", "w t u", "k", axis),
        ("DequantizeLinear", "k t u", "e", axis),
        ("Conv", "d e", "c", {"pads": [1] * 4}),
        *pair("c s z", "y"),
    ]
    data = {"x": rng.normal(0, 1, (1, 4, 9, 9)).astype(np.float32)}
    model = Net(nodes, data, constants).model
    check_equal(model, data)
    mod, _ = from_onnx(model)
    calls = [binding.value for binding in FoldQdq()(mod)["main"].body.blocks[0].bindings]
    (product,) = [call for call in calls if operator_of(call) is quantized_conv2d]
    weights = constant_of(product.args[1])
    assert weights is not None
    assert weights.dtype == dtype


def test_what_is_split_into_one_part() -> None:
    constants = {"s": np.float32(0.07), "z": np.uint8(3)}
    nodes: list[Any] = [*pair("x s z", "d"), ("Split", "d", "c", {"axis": 1}), *pair("c s z", "y")]
    data = {"x": np.random.default_rng(1).normal(0, 5, (1, 2, 6)).astype(np.float32)}
    Net(nodes, data, constants).check()
