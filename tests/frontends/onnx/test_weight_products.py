"""Weights that alone are quantized, whose products ONNX Runtime makes MatMulNBits of."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from frontends.onnx.attributes import attributes_of
from frontends.onnx.constants import constants_of
from frontends.onnx.weight_products import with_weight_products
from tests.support.onnx_graphs import Array, compiled, on_runtime

onnx = pytest.importorskip("onnx", reason="onnx is not installed")

DEPTH, UNITS = 40, 24
ORDERS = {"Transpose": {"perm": [0, 1]}}
LIMITS = {"INT4": (-8, 8), "UINT4": (0, 16), "INT8": (-128, 128), "UINT8": (0, 256)}
NEAR = 2.0**-21
"""Of the sum of the products' sizes: blocks are added up in another order."""


def model(
    dtype: str = "INT8",
    *,
    operator: str = "MatMul",
    axis: int | None = None,
    block: int = 0,
    has_points: bool = True,
    bias: tuple[int, ...] | None = None,
    data: str = "",
    reads: int = 1,
    after: str = "",
    **attributes: Any,
) -> Any:
    """Return a model of one product.

    Args:
        dtype: of the weights.
        operator: that multiplies.
        axis: of the scales, if there are several.
        block: how many weights have one, if there are several for each column.
        has_points: whether there are zero points.
        bias: the shape of one, if there is one.
        data: the dtype that data is quantized to before, if it is.
        after: what reads the result and is quantized to bytes, if anything is.
        reads: how many products read the weights.
        attributes: of the operator.
    """
    rng, helper = np.random.default_rng(7), onnx.helper
    kind, (low, high) = getattr(onnx.TensorProto, dtype), LIMITS[dtype]
    shape = (UNITS, DEPTH) if attributes.get("transB") else (DEPTH, UNITS)
    sizes: tuple[int, ...] = () if axis is None else (shape[axis],)
    where: dict[str, int] = {} if axis is None else {"axis": axis}
    if block:
        sizes, where = (-(-DEPTH // block), UNITS), {"axis": 0, "block_size": block}
    scales = np.asarray(rng.random(sizes) * 0.01 + 0.001, np.float32)
    tensors = [
        helper.make_tensor("w", kind, shape, rng.integers(low, high, shape).ravel().tolist()),
        helper.make_tensor("z", kind, sizes, rng.integers(low, high, sizes or 1).ravel().tolist()),
        onnx.numpy_helper.from_array(scales, "s"),
    ]
    if data:
        tensors.append(onnx.numpy_helper.from_array(np.float32(0.0002), "t"))
        tensors.append(onnx.numpy_helper.from_array(np.array(5, data), "u"))
    if bias is not None:
        tensors.append(onnx.numpy_helper.from_array(rng.normal(0, 1, bias).astype("f"), "b"))
    nodes = []
    if data:
        nodes.append(helper.make_node("QuantizeLinear", ["x", "t", "u"], ["q"]))
        nodes.append(helper.make_node("DequantizeLinear", ["q", "t", "u"], ["d"]))
    points = ["z"] if has_points else []
    nodes.append(helper.make_node("DequantizeLinear", ["w", "s", *points], ["r"], **where))
    operands = ["d" if data else "x", "r", *(["b"] if bias is not None else [])]
    outputs = [f"y{number}" for number in range(reads)]
    nodes += [helper.make_node(operator, operands, [name], **attributes) for name in outputs]
    if after:
        tensors.append(onnx.numpy_helper.from_array(np.float32(0.05), "t"))
        tensors.append(onnx.numpy_helper.from_array(np.uint8(120), "u"))
        nodes[-1].output[0] = "p"
        nodes.append(helper.make_node(after, ["p"], ["e"], **ORDERS.get(after, {})))
        nodes.append(helper.make_node("QuantizeLinear", ["e", "t", "u"], ["o"]))
        nodes.append(helper.make_node("DequantizeLinear", ["o", "t", "u"], outputs))
    value, real = helper.make_tensor_value_info, onnx.TensorProto.FLOAT
    given = [value("x", real, [3, DEPTH])]
    wanted = [value(name, real, [3, UNITS]) for name in outputs]
    graph = helper.make_graph(nodes, "product", given, wanted, tensors)
    opsets = [helper.make_opsetid("", 21)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=10)


CASES: dict[str, dict[str, Any]] = {
    **{dtype: {"dtype": dtype} for dtype in LIMITS},
    **{f"{dtype} without points": {"dtype": dtype, "has_points": False} for dtype in LIMITS},
    **{f"{dtype} of columns": {"dtype": dtype, "axis": 1} for dtype in LIMITS},
    **{f"{dtype} of blocks": {"dtype": dtype, "block": 16} for dtype in LIMITS},
    "large blocks": {"dtype": "INT4", "block": 64},
    "words": {"data": "uint16"},
    "Gemm": {"operator": "Gemm", "axis": 1},
    "Gemm with beta": {"operator": "Gemm", "beta": 2.0},
    "Gemm with a bias": {"operator": "Gemm", "bias": (UNITS,)},
}
OTHERS: dict[str, dict[str, Any]] = {
    "rows": {"axis": 0},
    "quantized": {"after": "Transpose"},
    "quantized after a Relu": {"after": "Relu"},
    "read twice": {"reads": 2},
    "small blocks": {"dtype": "INT4", "block": 8},
    "bytes and four bits": {"dtype": "INT4", "data": "uint8"},
    "int8 and uint8": {"dtype": "UINT8", "data": "int8"},
    "transposed": {"operator": "Gemm", "transB": 1},
    "a bias of two axes": {"operator": "Gemm", "bias": (1, UNITS)},
}


def written(net: Any) -> list[str]:
    kept = [value.name for value in net.graph.output]
    nodes, _ = with_weight_products(
        list(net.graph.node), constants_of(net), kept, attributes_of, "p_"
    )
    return [node.op_type for node in nodes]


def data() -> dict[str, Array]:
    return {"x": np.random.default_rng(8).normal(0, 1, (3, DEPTH)).astype(np.float32)}


def check(net: Any) -> None:
    ours, theirs = compiled(net, data(), in_float=True)[0], on_runtime(net, data())[0]
    # Weights are at most 0.011 * 255 each.
    most = np.abs(data()["x"]).sum(1, keepdims=True) * 0.011 * 255
    assert np.all(np.abs(ours - theirs) <= NEAR * most)


@pytest.mark.parametrize("case", CASES)
def test_quantizes_data_by_block(case: str) -> None:
    net = model(**CASES[case])
    assert "MatMulNBits" in written(net)
    assert written(net).count("DequantizeLinear") == ("data" in CASES[case])
    check(net)


@pytest.mark.parametrize("case", OTHERS)
def test_others_stay(case: str) -> None:
    net = model(**OTHERS[case])
    assert "MatMulNBits" not in written(net)
    check(net)
