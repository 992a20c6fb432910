"""Quantized operators, each as a node of its own, against ONNX Runtime."""

from typing import Any

import numpy as np
import pytest

from frontends.errors import UnsupportedOperatorError
from frontends.onnx import from_onnx
from qnn_ops.errors import QnnError
from tests.support.onnx_graphs import Array, Held, Net, Node, one, onnx

RNG = np.random.default_rng(5)
SHAPE = (1, 4, 8, 8)
MICROSOFT = "com.microsoft"

POOL = {"kernel_shape": [3, 3], "pads": [1, 0, 1, 2], "strides": [1, 2]}
CASES: dict[str, tuple[Any, ...]] = {
    "average": ("QLinearAveragePool", "x sx zx sy zy", POOL),
    "average with pads": ("QLinearAveragePool", "x sx zx sy zy", {**POOL, "count_include_pad": 1}),
    "average of all": ("QLinearAveragePool", "x sx zx sy zy", {"kernel_shape": [8, 8]}),
    "global average": ("QLinearGlobalAveragePool", "x sx zx sy zy"),
    "leaky": ("QLinearLeakyRelu", "x sx zx sy zy", {"alpha": 0.2}),
    "sigmoid": ("QLinearSigmoid", "x sx zx sp zp"),
    "softmax": ("QLinearSoftmax", "x sx zx sp zp", {"axis": 1, "opset": 11}),
    "softmax of the last axis": ("QLinearSoftmax", "x sx zx sp zp", {"opset": 11}),
    "where": ("QLinearWhere", "m x sx zx w sw zw sy zy"),
    "sum": ("QLinearAdd", "x sx zx w sw zw sy zy"),
    "product": ("QLinearMul", "x sx zx w sw zw sy zy"),
    "concat": ("QLinearConcat", "sy zy x sx zx w sw zw", {"axis": 2}),
    "convolution": ("QLinearConv", "x sx zx k sk zk sy zy b", {"auto_pad": "SAME_UPPER"}),
}


def operators(dtype: str) -> Net:
    low = int(np.iinfo(dtype).min)
    constants: dict[str, Any] = {
        "m": RNG.random(SHAPE) < 0.5,
        "w": RNG.integers(low, low + 256, SHAPE).astype(dtype),
        "k": RNG.integers(-127, 128, (5, 4, 3, 3)).astype(np.int8),
        "b": RNG.integers(-5000, 5000, 5).astype(np.int32),
        "sk": RNG.choice([0.0078125, 0.0113], 5).astype(np.float32),
        "zk": np.zeros(5, np.int8),
    }
    encodings = {"x": (0.0625, 117), "w": (0.05, 3), "y": (0.125, 128), "p": (1 / 256, 0)}
    for name, (scale, point) in encodings.items():
        constants[f"s{name}"] = np.float32(scale)
        constants[f"z{name}"] = np.asarray(low + point).astype(dtype)
    nodes: list[Node] = [("QuantizeLinear", "real sx zx", "x")]
    nodes += [
        (op, operands, f"r{number}", *attributes)
        for number, (op, operands, *attributes) in enumerate(CASES.values())
    ]
    nodes.append(("DequantizeLinear", "r0 sy zy", "last"))
    steps = (RNG.permutation(256) - 117).astype(np.float32).reshape(SHAPE)
    outputs = [node[2] for node in nodes[1:]]
    net = Net(nodes, {"real": np.float32(0.0625) * steps}, constants, outputs, opset=11)
    net.model.graph.node[-1].domain = MICROSOFT
    return net


@pytest.mark.parametrize("dtype", ["uint8", "int8"])
def test_operators(dtype: str) -> None:
    operators(dtype).check()


@pytest.mark.parametrize("places", [((), ("r",)), (("q",), ()), ((), ())], ids=str)
@pytest.mark.parametrize("op", ["QuantizeLinear", "DequantizeLinear", "QGemm", "QLinearWhere"])
def test_nodes_without_operands_are_one_error(op: str, places: Any) -> None:
    model = operators("uint8").model
    inputs, outputs = places
    made = onnx.helper.make_node(op, list(inputs), list(outputs), domain=MICROSOFT)
    model.graph.node.insert(1, made)
    with pytest.raises(QnnError):
        from_onnx(model)


WHERE = CASES["where"][1].split()


@pytest.mark.parametrize(
    "names", [WHERE[:-1], [*WHERE, "zy"], [*WHERE[:6], "sy", "zy"]], ids=" ".join
)
def test_a_choice_has_nine_operands(names: list[str]) -> None:
    model = operators("uint8").model
    node = next(each for each in model.graph.node if each.op_type == "QLinearWhere")
    node.input[:] = names
    with pytest.raises(UnsupportedOperatorError, match="operands or attributes are not those"):
        from_onnx(model)


def one_of(operator: str, data: Array, *, has_points: bool) -> Net:
    """Return a model of one operator whose zero points are 0, or are left out."""
    point = Held(np.zeros((), data.dtype)) if has_points else None
    operands = [data, np.float32(0.0625), point] * (1 + (operator in ("Add", "Mul")))
    return one(f"QLinear{operator}", *operands, np.float32(0.125), point)


@pytest.mark.parametrize("operator", ["Add", "GlobalAveragePool", "LeakyRelu", "Mul", "Sigmoid"])
@pytest.mark.parametrize("dtype", ["uint8", "int8"])
def test_a_zero_point_that_is_left_out_is_0(dtype: str, operator: str) -> None:
    data = RNG.integers(0, 100, SHAPE).astype(dtype)
    # ONNX Runtime ends the process over some operators without them.
    (wanted,) = one_of(operator, data, has_points=True).theirs()
    (result,) = one_of(operator, data, has_points=False).ours()
    np.testing.assert_array_equal(result, wanted)
    assert result.dtype == wanted.dtype
