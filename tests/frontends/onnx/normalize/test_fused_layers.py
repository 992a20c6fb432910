"""Layers of several nodes, which ONNX Runtime computes as one: every bit."""

from typing import Any

import numpy as np
import pytest

from frontends.errors import UnsupportedOperatorError
from frontends.onnx.graph.graph import Graph
from frontends.onnx.graph.shapes import with_shapes
from frontends.onnx.normalize.fused_layers import write_fused_layers
from frontends.onnx.normalize.identities import drop_identity
from tests.support.onnx_graphs import Net, Node, pair, refused

SHAPE = (2, 9, 40)
RNG = np.random.default_rng(5)
CONSTANTS: dict[str, Any] = {
    **{f"c{n}": np.float32(n) for n in (0.5, 1, 2, 3)},
    "cubic": np.float32(0.044715),
    "root": np.float32(0.7978845608),
    "e": np.float32(1e-5),
    "sqrt2": np.float32(2**0.5),
    **{name: RNG.normal(1, 0.3, SHAPE[-1]).astype(np.float32) for name in "sb"},
}
LAST = {"axes": [-1]}
ROOT: list[Node] = [
    ("Pow", "d c2", "p"),
    ("ReduceMean", "p", "v", LAST),
    ("Add", "v e", "w"),
    ("Sqrt", "w", "q"),
]
SCALED: list[Node] = [("Mul", "s n", "m"), ("Add", "m b", "y")]
TANH: list[Node] = [("Mul", "t root", "u"), ("Tanh", "u", "h"), ("Add", "c1 h", "a")]
ERF: list[Node] = [("Erf", "t", "h"), ("Add", "h c1", "a")]
HALVED: list[Node] = [("Mul", "x c0.5", "o"), ("Mul", "o a", "y")]


def of(nodes: list[Node], source: str) -> list[Node]:
    return [(op, operands.replace("d", source), *rest) for op, operands, *rest in nodes]


LAYERS: dict[str, tuple[list[Node], str]] = {
    "normalization": (
        [("ReduceMean", "x", "k", LAST), ("Sub", "x k", "d"), *ROOT, ("Div", "d q", "n"), *SCALED],
        "LayerNormalization",
    ),
    "root mean square": (
        [*of(ROOT, "x"), ("Div", "x q", "n"), ("Mul", "s n", "y")],
        "RMSNormalization",
    ),
    "reciprocal": (
        [*of(ROOT, "x"), ("Div", "c1 q", "i"), ("Mul", "x i", "n"), ("Mul", "s n", "y")],
        "RMSNormalization",
    ),
    "tanh of a power": (
        [("Pow", "x c3", "p"), ("Mul", "cubic p", "c"), ("Add", "x c", "t"), *TANH, *HALVED],
        "Gelu",
    ),
    "erf of a quotient": ([("Div", "x sqrt2", "t"), *ERF, *HALVED], "Gelu"),
    "erf, halved at the end": (
        [("Div", "x sqrt2", "t"), *ERF, ("Mul", "x a", "o"), ("Mul", "o c0.5", "y")],
        "Gelu",
    ),
}


def data() -> dict[str, Any]:
    rng = np.random.default_rng(6)
    return {name: rng.normal(0.5, 2, SHAPE).astype(np.float32) for name in "xr"}


def model(nodes: list[Node], outputs: list[str]) -> Net:
    names = {name for node in nodes for name in node[1].split()}
    given = {name: array for name, array in data().items() if name in names}
    used = {name: array for name, array in CONSTANTS.items() if name in names}
    return Net(nodes, given, used, outputs, opset=13)


@pytest.mark.parametrize("name", LAYERS)
def test_a_layer_is_one_operator(name: str) -> None:
    nodes, code = LAYERS[name]
    nodes = [*nodes, ("Neg", "y", "z")]  # of no output ONNX Runtime makes a Gelu of tanh
    net = model(nodes, ["z"])
    graph = with_shapes(net.model, None)
    write_fused_layers(graph)
    assert [node.op_type for node in graph.node] == [code, "Neg"]
    net.check()


@pytest.mark.parametrize("outputs", [["y", "p"], ["y"]])
@pytest.mark.parametrize("name", ["root mean square", "tanh of a power"])
def test_what_gives_outputs_may_keep_a_layer_apart(name: str, outputs: list[str]) -> None:
    model(LAYERS[name][0], outputs).check()


@pytest.mark.parametrize("outputs", [["y"], ["y", "a"]])
def test_a_sum_before_a_normalization_is_a_part_of_it(outputs: list[str]) -> None:
    nodes: list[Node] = [("Add", "x r", "a"), ("LayerNormalization", "a s b", "y")]
    rest = {name: CONSTANTS[name] for name in "sb"}
    Net(nodes, data(), rest, outputs).check()
    flat = {name: array[0] for name, array in data().items()}
    Net(nodes, flat, rest, outputs).check()


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
