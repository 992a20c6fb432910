"""Products of matrices whose result nothing quantizes, against ONNX Runtime."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tvm_qnn as qnn
from frontends.onnx import from_onnx
from tests.support.onnx_graphs import Node, check_equal
from tests.support.onnx_graphs import model_of as graph_of
from tvm_qnn.oracle import onnxruntime_tensors

onnx = pytest.importorskip("onnx", reason="onnx is not installed")
pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")

ROWS, DEPTH, UNITS = 7, 96, 10


def model_of(form: str, dtype: str, rng: np.random.Generator) -> Any:
    """Return a product as "Gemm", "Gemm without bias" or "MatMul" of a QDQ model, or "QGemm"."""
    point = np.asarray(np.iinfo(dtype).min + 117).astype(dtype)
    is_transposed = form != "MatMul"
    shape = (UNITS, DEPTH) if is_transposed else (DEPTH, UNITS)
    scales = rng.uniform(0.001, 0.02, UNITS).astype(np.float32)
    constants: dict[str, Any] = {
        "sx": np.float32(0.0437),
        "zx": point,
        "w": rng.integers(-127, 128, shape).astype(np.int8),
        "sw": scales,
        "zw": np.zeros(UNITS, np.int8),
        "b": rng.integers(-9000, 9000, UNITS).astype(np.int32),
        "sb": np.float32(0.0437) * scales,
    }
    make, axis = onnx.helper.make_node, 0 if is_transposed else 1
    nodes = [make("QuantizeLinear", ["x", "sx", "zx"], ["q"])]
    if form == "QGemm":
        operands = ["q", "sx", "zx", "w", "sw", "zw", "b"]
        nodes.append(make(form, operands, ["y"], domain="com.microsoft", transB=1))
    else:
        nodes.append(make("DequantizeLinear", ["q", "sx", "zx"], ["real"]))
        nodes.append(make("DequantizeLinear", ["w", "sw", "zw"], ["weights"], axis=axis))
        operands = ["real", "weights"]
        if form == "Gemm":
            nodes.append(make("DequantizeLinear", ["b", "sb"], ["bias"], axis=0))
            operands.append("bias")
        attributes = {} if form == "MatMul" else {"transB": 1}
        nodes.append(make(form.split()[0], operands, ["y"], **attributes))
    values = [
        onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, (ROWS, size))
        for name, size in (("x", DEPTH), ("y", UNITS))
    ]
    tensors = [onnx.numpy_helper.from_array(np.asarray(a), name) for name, a in constants.items()]
    graph = onnx.helper.make_graph(nodes, "product", values[:1], values[1:], tensors)
    opsets = [onnx.helper.make_opsetid("", 17), onnx.helper.make_opsetid("com.microsoft", 1)]
    return onnx.helper.make_model(graph, opset_imports=opsets, ir_version=8)


@pytest.mark.parametrize("dtype", ["uint8", "int8"])
@pytest.mark.parametrize("form", ["Gemm", "Gemm without bias", "MatMul", "QGemm"])
def test_products_have_all_bits(form: str, dtype: str) -> None:
    rng = np.random.default_rng(13)
    model = model_of(form, dtype, rng)
    data = rng.normal(0, 3, (ROWS, DEPTH)).astype(np.float32)
    wanted = onnxruntime_tensors(model, [data])["y"]
    mod, params = from_onnx(model)
    np.testing.assert_array_equal(qnn.build(mod, "host", params).run(data), wanted)


# Relu at a point of 0 and a Clip without ends are dropped; Relu at another point is not.
CLIPS = {"Relu at 0": ("Relu", 0), "Relu at 3": ("Relu", 3), "Clip": ("Clip", 3)}


@pytest.mark.parametrize("other", ["", "sums", "clipped"])
@pytest.mark.parametrize("outputs", ["y", "sums y", "clipped y"])
@pytest.mark.parametrize("clip", CLIPS)
@pytest.mark.parametrize("product", ["MatMul", "Gemm"])
def test_a_clip_that_is_quantized_may_leave_the_product_in_float(
    product: str, clip: str, outputs: str, other: str
) -> None:
    """Sums of multiples of 0.001 meet ties of a scale of 0.06 often enough to tell."""
    name, point = CLIPS[clip]
    rng = np.random.default_rng(1)
    data = {"x": rng.normal(0, 2, (40, 8)).astype(np.float32)}
    constants = {
        "scale": np.float32(0.05),
        "point": np.uint8(10),
        "matrix": rng.integers(0, 120, (8, 6)).astype(np.int8),
        "step": np.float32(0.02),
        "none": np.int8(0),
        "last_scale": np.float32(0.06),
        "last_point": np.uint8(point),
    }
    nodes: list[Node] = [
        ("QuantizeLinear", "x scale point", "q", {}),
        ("DequantizeLinear", "q scale point", "real", {}),
        ("DequantizeLinear", "matrix step none", "weights", {}),
        (product, "real weights", "sums", {}),
        (name, "sums", "clipped", {}),
        ("QuantizeLinear", "clipped last_scale last_point", "quantized", {}),
        ("DequantizeLinear", "quantized last_scale last_point", "y", {}),
    ]
    results = outputs.split()
    if other:
        nodes.append(("Abs", other, "absolute", {}))
        results.append("absolute")
    check_equal(graph_of(nodes, data, results, constants), data, in_float=True)
