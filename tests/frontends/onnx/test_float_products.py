"""Products of matrices whose result nothing quantizes, against ONNX Runtime."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tvm_qnn as qnn
from frontends.onnx import from_onnx
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
