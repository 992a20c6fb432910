"""Products of quantized matrices with float results: ONNX Runtime's, as nodes of the standard."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tvm_qnn as qnn
from benchmarks.transformer import TINY, dynamic, network, sentence
from frontends.errors import UnsupportedOperatorError
from frontends.onnx import from_onnx
from tests.frontends.onnx.converters.test_products import weights
from tests.support.onnx_graphs import (
    Array,
    Node,
    check_equal,
    compiled,
    model_of,
    on_runtime,
    onnxruntime,
)
from tests.support.onnx_graphs import model_of as graph_of
from tvm_qnn.oracle import onnxruntime_tensors


@pytest.mark.parametrize("tail", ["", " zw", " zw bias", " _ bias"])
def test_products_of_bytes_with_float_results(tail: str) -> None:
    constants = {**weights("int8", True, "zero"), "sx": np.float32(0.02), "zx": np.uint8(3)}
    rng = np.random.default_rng(1)
    data = {"x": rng.integers(0, 256, (3, 5, 70)).astype(np.uint8)}
    nodes: list[Node] = [("MatMulIntegerToFloat", f"x w sx sw zx{tail}", "y", {})]
    check_equal(model_of(nodes, data, ["y"], constants), data)


@pytest.mark.parametrize("tail", ["", " zw", " zw bias", " _ bias"])
def test_products_of_floats_and_bytes(tail: str) -> None:
    constants = weights("uint8", False, "one" if "zw" in tail else "zero")
    data = {"x": np.random.default_rng(2).normal(0, 3, (3, 5, 70)).astype(np.float32)}
    nodes: list[Node] = [("DynamicQuantizeMatMul", f"x w sw{tail}", "y", {})]
    check_equal(model_of(nodes, data, ["y"], constants), data)


@pytest.mark.parametrize("scales", [(7,), (2, 1, 7), (1,)], ids=str)
@pytest.mark.parametrize("tail", ["", " bias"])
@pytest.mark.parametrize("operator", ["MatMulIntegerToFloat", "DynamicQuantizeMatMul"])
def test_scales_of_several_matrices(operator: str, tail: str, scales: tuple[int, ...]) -> None:
    """ONNX Runtime multiplies by scales of one axis after it has added the bias."""
    rng = np.random.default_rng(3)
    is_real = operator.startswith("Dynamic")
    constants = {
        "w": rng.integers(-128, 128, (2, 30, 7)).astype(np.int8),
        "sw": (0.001 + 0.01 * rng.random(scales)).astype(np.float32),
        "bias": rng.normal(0, 1, 7).astype(np.float32),
        "sx": np.float32(0.02),
    }
    reals, steps = rng.normal(0, 3, (2, 5, 30)), rng.integers(0, 256, (2, 5, 30))
    data = {"x": reals.astype(np.float32) if is_real else steps.astype(np.uint8)}
    operands = "x w sw _" if is_real else "x w sx sw _ _"
    nodes: list[Node] = [(operator, f"{operands}{tail}", "y", {})]
    check_equal(model_of(nodes, data, ["y"], constants), data)


def parts(dtype: str, *, has_bias: bool) -> tuple[list[Node], dict[str, Array], dict[str, Array]]:
    """Return nodes before and at the product, data and constants."""
    rng = np.random.default_rng(4)
    data = {"x": rng.normal(0, 1, (5, 24)).astype(np.float32)}
    constants = {
        "w": rng.integers(-127, 128, (24, 10)).astype(np.int8),
        "sx": np.float32(0.03),
        "zx": np.array(5, dtype),
        "sw": np.float32(0.01),
        "zw": np.int8(0),
        "sy": np.float32(0.1),
        "b": rng.integers(-9999, 9999, 10).astype(np.int32),
        "sb": np.float32(0.03) * np.float32(0.01),
    }
    nodes: list[Node] = [
        ("QuantizeLinear", "x sx zx", "q", {}),
        ("DequantizeLinear", "q sx zx", "d", {}),
        ("DequantizeLinear", "w sw zw", "v", {}),
    ]
    if has_bias:
        nodes.append(("DequantizeLinear", "b sb", "c", {}))
    return nodes, data, {key: np.asarray(value) for key, value in constants.items()}


@pytest.mark.parametrize("is_quantized", [True, False])
@pytest.mark.parametrize("has_bias", [True, False])
@pytest.mark.parametrize(("alpha", "beta"), [(0.3, 1.0), (1.0, 2.0), (0.5, 2.0)])
@pytest.mark.parametrize("dtype", ["uint8", "int8"])
def test_products_of_bytes(
    dtype: str, alpha: float, beta: float, has_bias: bool, is_quantized: bool
) -> None:
    nodes, data, constants = parts(dtype, has_bias=has_bias)
    attributes = {"alpha": alpha, "beta": beta}
    nodes.append(("Gemm", "d v c" if has_bias else "d v", "y", attributes))
    if is_quantized:
        nodes.append(("QuantizeLinear", "y sy zx", "r", {}))
    results = [f"r:{dtype}"] if is_quantized else ["y"]
    net = model_of(nodes, data, results, constants)
    if has_bias and not is_quantized:
        check_near(net, data)
    else:
        check_equal(net, data, in_float=True)


@pytest.mark.parametrize("operands", ["x w", "x w b"])
def test_products_of_floats(operands: str) -> None:
    rng = np.random.default_rng(5)
    data = {"x": rng.normal(0, 1, (5, 24)).astype(np.float32)}
    shapes = {"w": (24, 10), "b": (10,)}
    constants = {key: rng.normal(0, 1, shape).astype("f") for key, shape in shapes.items()}
    nodes: list[Node] = [("Gemm", operands, "y", {"alpha": 0.3, "beta": 1.7})]
    check_near(model_of(nodes, data, ["y"], constants), data)


def check_near(net: Any, data: dict[str, Array]) -> None:
    """Compare floats: ONNX Runtime multiplies sums by ``alpha``, and the data are here."""
    ours, theirs = compiled(net, data, in_float=True)[0], on_runtime(net, data)[0]
    assert np.abs(ours - theirs).max() <= 2.0**-21 * np.abs(theirs).max()


def reals(rng: np.random.Generator, *shape: int) -> Array:
    return rng.normal(0, 1, shape).astype(np.float32)


@pytest.mark.parametrize("turned", [(0, 0), (1, 0), (0, 1), (1, 1)])
@pytest.mark.parametrize("alpha", [1.0, 0.37])
def test_products_of_matrices(turned: tuple[int, int], alpha: float) -> None:
    rng = np.random.default_rng(1)
    shapes = [(5, 8), (8, 7)]
    data = {
        name: reals(rng, 2, 3, *(shape[::-1] if is_turned else shape))
        for name, shape, is_turned in zip("ab", shapes, turned, strict=True)
    }
    attributes = {"transA": turned[0], "transB": turned[1], "alpha": alpha}
    check_equal(model_of([("FusedMatMul", "a b", "y", attributes)], data, ["y"], {}), data)


ACTIVATIONS: dict[str, dict[str, float]] = {
    "Relu": {},
    "Sigmoid": {},
    "Tanh": {},
    "LeakyRelu": {"activation_alpha": 0.1},
    "HardSigmoid": {"activation_alpha": 0.3, "activation_beta": 0.4},
}


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_activations_of_products(activation: str) -> None:
    rng = np.random.default_rng(2)
    data, constants = {"x": reals(rng, 4, 8)}, {"w": reals(rng, 6, 8), "b": reals(rng, 6)}
    attributes = {"activation": activation, "transB": 1, **ACTIVATIONS[activation]}
    check_equal(model_of([("FusedGemm", "x w b", "y", attributes)], data, ["y"], constants), data)


def test_a_network_that_onnx_runtime_has_written(tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime.quantization")
    model = dynamic(network(TINY))
    for value in (*model.graph.input, *model.graph.output):
        value.type.tensor_type.shape.dim[0].dim_value = 1
    options = onnxruntime.SessionOptions()
    options.optimized_model_filepath = str(tmp_path / "written.onnx")
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
    providers = ["CPUExecutionProvider"]
    onnxruntime.InferenceSession(model.SerializeToString(), options, providers)
    written = onnx.load(tmp_path / "written.onnx")
    kinds = {node.op_type for node in written.graph.node}
    assert {"DynamicQuantizeMatMul", "FusedMatMul", "SkipLayerNormalization"} <= kinds
    data = sentence(TINY, 1)
    ours, theirs = compiled(written, data)[0], on_runtime(model, data)[0]
    # A byte at a tie may be another, as sums of floats have another order.
    np.testing.assert_allclose(ours, theirs, atol=0.02)


REFUSED: dict[str, dict[str, Any]] = {
    "transposed batches": {"transBatchA": 1},
    "the activation 'Sine'": {"activation": "Sine"},
}


@pytest.mark.parametrize("reason", REFUSED)
def test_attributes_that_are_refused(reason: str) -> None:
    data = {name: reals(np.random.default_rng(3), 8, 8) for name in "ab"}
    op = "FusedGemm" if "activation" in REFUSED[reason] else "FusedMatMul"
    given = {"activation": "Relu"} if op == "FusedGemm" else {}
    model = model_of([(op, "a b", "y", given)], data, ["y"], {})
    del model.graph.node[0].attribute[:]
    model.graph.node[0].attribute.extend(
        onnx.helper.make_attribute(name, value) for name, value in REFUSED[reason].items()
    )
    with pytest.raises(UnsupportedOperatorError, match=reason):
        from_onnx(model)


PARAMETERS: dict[str, list[float]] = {
    "Relu": [],
    "Sigmoid": [],
    "Tanh": [],
    "LeakyRelu": [0.1],
    "HardSigmoid": [0.3, 0.4],
    "Clip": [-0.5, 1.5],
}


@pytest.mark.parametrize("activation", PARAMETERS)
@pytest.mark.parametrize("operands", ["x w", "x w b", "x w b z"])
def test_convolutions_with_an_activation(activation: str, operands: str) -> None:
    rng = np.random.default_rng(7)
    # Numbers whose sums are the same in any order.
    data = {"x": rng.integers(-8, 8, (2, 3, 6, 6)).astype(np.float32)}
    known = {
        "w": rng.integers(-8, 8, (4, 3, 3, 3)).astype(np.float32) / 64,
        "b": rng.integers(-8, 8, 4).astype(np.float32),
        "z": rng.integers(-8, 8, (2, 4, 4, 4)).astype(np.float32) / 2,
    }
    attributes = {"activation": activation, "activation_params": PARAMETERS[activation]}
    attributes = {key: value for key, value in attributes.items() if value}
    known = {name: array for name, array in known.items() if name in operands.split()}
    check_equal(model_of([("FusedConv", operands, "y", attributes)], data, ["y"], known), data)


def test_an_activation_without_its_parameters_is_refused() -> None:
    data = {"x": np.zeros((1, 1, 4, 4), np.float32)}
    known = {"w": np.zeros((1, 1, 3, 3), np.float32)}
    model = model_of([("FusedConv", "x w", "y", {"activation": "Relu"})], data, ["y"], known)
    model.graph.node[0].attribute[0].s = b"Gelu"
    with pytest.raises(UnsupportedOperatorError, match="the activation 'Gelu' with 0 parameters"):
        from_onnx(model)


onnx = pytest.importorskip("onnx", reason="onnx is not installed")
pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")

ROWS, DEPTH, UNITS = 7, 96, 10


def model_of_float_products(form: str, dtype: str, rng: np.random.Generator) -> Any:
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
    model = model_of_float_products(form, dtype, rng)
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
