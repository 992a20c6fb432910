"""Quantized operators, each as a node of its own, against ONNX Runtime."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tvm_qnn as qnn
from frontends.onnx import from_onnx
from qnn_ops.errors import QnnError
from tvm_qnn.oracle import onnxruntime_tensors

onnx = pytest.importorskip("onnx", reason="onnx is not installed")
pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")

RNG = np.random.default_rng(5)
SHAPE = (1, 4, 8, 8)
MICROSOFT = "com.microsoft"

POOL = {"kernel_shape": [3, 3], "pads": [1, 0, 1, 2], "strides": [1, 2]}
CASES: dict[str, tuple[str, list[str], dict[str, Any]]] = {
    "average": ("QLinearAveragePool", ["x", "y"], POOL),
    "average with pads": ("QLinearAveragePool", ["x", "y"], {**POOL, "count_include_pad": 1}),
    "average of all": ("QLinearAveragePool", ["x", "y"], {"kernel_shape": [8, 8]}),
    "global average": ("QLinearGlobalAveragePool", ["x", "y"], {}),
    "leaky": ("QLinearLeakyRelu", ["x", "y"], {"alpha": 0.2}),
    "sigmoid": ("QLinearSigmoid", ["x", "p"], {}),
    "softmax": ("QLinearSoftmax", ["x", "p"], {"axis": 1, "opset": 11}),
    "softmax of the last axis": ("QLinearSoftmax", ["x", "p"], {"opset": 11}),
    "where": ("QLinearWhere", ["m", "x", "w", "y"], {}),
    "sum": ("QLinearAdd", ["x", "w", "y"], {}),
    "product": ("QLinearMul", ["x", "w", "y"], {}),
    "concat": ("QLinearConcat", ["y", "x", "w"], {"axis": 2}),
    "convolution": ("QLinearConv", ["x", "k", "y", "b"], {"auto_pad": "SAME_UPPER"}),
}


def model_of(dtype: str) -> Any:
    low = int(np.iinfo(dtype).min)
    constants: dict[str, Any] = {
        "m": RNG.random(SHAPE) < 0.5,
        "w": RNG.integers(low, low + 256, SHAPE).astype(dtype),
        "k": RNG.integers(-127, 128, (5, 4, 3, 3)).astype(np.int8),
        "b": RNG.integers(-5000, 5000, 5).astype(np.int32),
        "sk": RNG.choice([0.0078125, 0.0113], 5).astype(np.float32),
        "zk": np.zeros(5, np.int8),
    }
    for name, scale, point in (
        ("x", 0.0625, 117),
        ("w", 0.05, 3),
        ("y", 0.125, 128),
        ("p", 1 / 256, 0),
    ):
        constants |= {f"s{name}": np.float32(scale)}
        constants |= {f"z{name}": np.asarray(low + point).astype(dtype)}
    helper = onnx.helper
    nodes = [helper.make_node("QuantizeLinear", ["real", "sx", "zx"], ["x"])]
    encoded = {"x", "w", "y", "p", "k"}
    for number, (op, names, attributes) in enumerate(CASES.values()):
        inputs = []
        for name in names:
            # The result has no value, only an encoding.
            inputs += [name] if name not in ("y", "p") else []
            inputs += [f"s{name}", f"z{name}"] if name in encoded else []
        domain = "" if op == "QLinearConv" else MICROSOFT
        nodes.append(helper.make_node(op, inputs, [f"r{number}"], domain=domain, **attributes))
    numbers = range(len(CASES))
    last = helper.make_node("DequantizeLinear", ["r0", "sy", "zy"], ["last"], domain=MICROSOFT)
    values = [helper.make_tensor_value_info("real", onnx.TensorProto.FLOAT, SHAPE)]
    kind = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    results = [helper.make_tensor_value_info(f"r{n}", kind, ["?"] * 4) for n in numbers]
    results.append(helper.make_tensor_value_info("last", onnx.TensorProto.FLOAT, ["?"] * 4))
    tensors = [onnx.numpy_helper.from_array(np.asarray(a), name) for name, a in constants.items()]
    graph = helper.make_graph([*nodes, last], "operators", values, results, tensors)
    opsets = [helper.make_opsetid("", 11), helper.make_opsetid(MICROSOFT, 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=7)


@pytest.mark.parametrize("dtype", ["uint8", "int8"])
def test_operators(dtype: str) -> None:
    model = model_of(dtype)
    data = np.float32(0.0625) * (RNG.permutation(256) - 117).astype(np.float32).reshape(SHAPE)
    wanted = onnxruntime_tensors(model, [data])
    mod, params = from_onnx(model)
    results = qnn.build(mod, "host", params).run(data)
    wrong = []
    for name, key in zip((*CASES, "last"), results, strict=True):
        if not np.array_equal(results[key], wanted[key]):
            wrong.append(f"{name}: {(results[key] != wanted[key]).sum()}")
    assert not wrong


@pytest.mark.parametrize("places", [((), ("r",)), (("q",), ()), ((), ())], ids=str)
@pytest.mark.parametrize("op", ["QuantizeLinear", "DequantizeLinear", "QGemm", "QLinearWhere"])
def test_nodes_without_operands_are_one_error(op: str, places: Any) -> None:
    model = model_of("uint8")
    inputs, outputs = places
    made = onnx.helper.make_node(op, list(inputs), list(outputs), domain=MICROSOFT)
    model.graph.node.insert(1, made)
    with pytest.raises(QnnError):
        from_onnx(model)


def one_of(operator: str, dtype: str, *, has_points: bool) -> Any:
    """Return a model of one operator whose zero points are 0, or are left out."""
    helper = onnx.helper
    encodings = ["s", "z" if has_points else "", "t", "z" if has_points else ""]
    data = ["x", *encodings[:2]] * (1 + (operator in ("Add", "Mul")))
    node = helper.make_node(f"QLinear{operator}", [*data, *encodings[2:]], ["y"], domain=MICROSOFT)
    kind = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    constants = {"s": np.float32(0.0625), "t": np.float32(0.125), "z": np.zeros((), dtype)}
    graph = helper.make_graph(
        [node],
        "one",
        [helper.make_tensor_value_info("x", kind, SHAPE)],
        [helper.make_tensor_value_info("y", kind, ["?"] * 4)],
        [onnx.numpy_helper.from_array(np.asarray(a), name) for name, a in constants.items()],
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid(MICROSOFT, 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)


@pytest.mark.parametrize("operator", ["Add", "GlobalAveragePool", "LeakyRelu", "Mul", "Sigmoid"])
@pytest.mark.parametrize("dtype", ["uint8", "int8"])
def test_a_zero_point_that_is_left_out_is_0(dtype: str, operator: str) -> None:
    data = RNG.integers(0, 100, SHAPE).astype(dtype)
    # ONNX Runtime ends the process over some operators without them.
    wanted = onnxruntime_tensors(one_of(operator, dtype, has_points=True), [data])["y"]
    mod, params = from_onnx(one_of(operator, dtype, has_points=False))
    result = qnn.build(mod, "host", params).run(data)
    np.testing.assert_array_equal(result, wanted)
    assert result.dtype == wanted.dtype
