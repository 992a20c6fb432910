"""Models with functions of their own."""

from typing import Any

import numpy as np
import pytest

from frontends.errors import ModelFormatError
from frontends.onnx import from_onnx
from tests.support.errors import fails
from tests.support.onnx_graphs import Net, Node, check_equal, node_of, onnx

RNG = np.random.default_rng(8)
DATA = RNG.integers(0, 256, (1, 3, 7, 7)).astype(np.uint8)


def function(name: str, nodes: list[Any], attributes: tuple[str, ...] = (), opset: int = 17) -> Any:
    """Return a function of ``a`` and ``b`` that gives ``y``."""
    opsets = [onnx.helper.make_opsetid("", opset), onnx.helper.make_opsetid("own", 1)]
    names = list(attributes)
    return onnx.helper.make_function("own", name, ["a", "b"], ["y"], nodes, opsets, names)


def call(name: str, operands: str, result: str, **attributes: Any) -> Any:
    node = node_of(name, operands, result, attributes)
    if name.startswith("Own"):
        node.domain = "own"
    return node


def model(functions: list[Any]) -> Any:
    """Return one that quantizes what ``OwnFirst`` makes of dequantized data and weights."""
    nodes: list[Node] = [
        ("DequantizeLinear", "q s z", "x"),
        ("DequantizeLinear", "w t u", "k"),
        ("OwnFirst", "x k", "c"),
        ("QuantizeLinear", "c v z", "r"),
    ]
    constants = {
        "s": np.float32(0.03),
        "z": np.uint8(120),
        "w": RNG.integers(-127, 128, (4, 3, 3, 3)).astype(np.int8),
        "t": np.float32(0.01),
        "u": np.int8(0),
        "v": np.float32(0.1),
    }
    made = Net(nodes, {"q": DATA}, constants).model
    made.graph.node[2].domain = "own"
    made.opset_import.add(domain="own", version=1)
    made.functions.extend(functions)
    return made


def convolution() -> Any:
    """Return a Conv whose strides are an attribute of its function."""
    node = call("Conv", "a b", "y")
    attribute = node.attribute.add()
    attribute.name, attribute.ref_attr_name = "strides", "steps"
    attribute.type = onnx.AttributeProto.INTS
    return node


def test_functions_in_functions_with_attributes() -> None:
    inner = function("OwnSecond", [convolution()], ("steps",))
    outer = function("OwnFirst", [call("OwnSecond", "a b", "y", steps=[2, 2])])
    check_equal(model([outer, inner]), {"q": DATA})


def test_functions_that_grow_are_refused_at_once() -> None:
    names = ["OwnFirst", *(f"Own{number}" for number in range(40))]
    functions = [
        function(name, [call(inner, "a b", "c"), call(inner, "c b", "y")])
        for name, inner in zip(names, [*names[1:], "Add"], strict=True)
    ]
    with pytest.raises(ModelFormatError, match="functions make more than 100,000 nodes"):
        from_onnx(model(functions))


def test_a_function_of_other_operators_is_named() -> None:
    fails("OwnFirst", from_onnx, model([function("OwnFirst", [call("Add", "a b", "y")], opset=16)]))
