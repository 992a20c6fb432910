"""Products of quantized matrices with float results: ONNX Runtime's, as nodes of the standard."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.transformer import TINY, dynamic, network, sentence
from frontends.errors import UnsupportedOperatorError
from tests.frontends.onnx.converters.test_products import weights
from tests.support.onnx_graphs import (
    Array,
    Held,
    Net,
    Node,
    compiled,
    each,
    equal,
    near,
    on_runtime,
    one,
    onnx,
    onnxruntime,
    pair,
    refused,
)

TAILS = ("", " zw", " zw bias", " _ bias")


def of_bytes_with_float_results(tail: str) -> Net:
    constants = {**weights("int8", True, "zero"), "sx": np.float32(0.02), "zx": np.uint8(3)}
    rng = np.random.default_rng(1)
    data = {"x": rng.integers(0, 256, (3, 5, 70)).astype(np.uint8)}
    nodes: list[Node] = [("MatMulIntegerToFloat", f"x w sx sw zx{tail}", "y")]
    return Net(nodes, data, constants)


test_products_of_bytes_with_float_results = equal(each(of_bytes_with_float_results, TAILS))


def of_floats_and_bytes(tail: str) -> Net:
    constants = weights("uint8", False, "one" if "zw" in tail else "zero")
    data = {"x": np.random.default_rng(2).normal(0, 3, (3, 5, 70)).astype(np.float32)}
    nodes: list[Node] = [("DynamicQuantizeMatMul", f"x w sw{tail}", "y")]
    return Net(nodes, data, constants)


test_products_of_floats_and_bytes = equal(each(of_floats_and_bytes, TAILS))


def of_several_scales(operator: str, tail: str, scales: tuple[int, ...]) -> Net:
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
    nodes: list[Node] = [(operator, f"{operands}{tail}", "y")]
    return Net(nodes, data, constants)


test_scales_of_several_matrices = equal(
    each(
        of_several_scales,
        ("MatMulIntegerToFloat", "DynamicQuantizeMatMul"),
        ("", " bias"),
        [(7,), (2, 1, 7), (1,)],
    )
)


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
    nodes: list[Node] = [*pair("x sx zx", "d"), ("DequantizeLinear", "w sw zw", "v")]
    if has_bias:
        nodes.append(("DequantizeLinear", "b sb", "c"))
    return nodes, data, {key: np.asarray(value) for key, value in constants.items()}


def product_of_bytes(
    dtype: str, numbers: tuple[float, float], has_bias: bool, is_quantized: bool
) -> Net:
    nodes, data, constants = parts(dtype, has_bias=has_bias)
    attributes = dict(zip(("alpha", "beta"), numbers, strict=True))
    nodes.append(("Gemm", "d v c" if has_bias else "d v", "y", attributes))
    if is_quantized:
        nodes.append(("QuantizeLinear", "y sy zx", "r"))
    return Net(nodes, data, constants)


BYTES = ("uint8", "int8"), [(0.3, 1.0), (1.0, 2.0), (0.5, 2.0)]
test_quantized_products_of_bytes = equal(
    each(product_of_bytes, *BYTES, (True, False), [True]), in_float=True
)
test_products_of_bytes = equal(each(product_of_bytes, *BYTES, [False], [False]), in_float=True)
test_products_of_bytes_and_a_bias = near(
    each(product_of_bytes, *BYTES, [True], [False]), 2.0**-21, in_float=True
)


@pytest.mark.parametrize("operands", ["x w", "x w b"])
def test_products_of_floats(operands: str) -> None:
    rng = np.random.default_rng(5)
    data = {"x": rng.normal(0, 1, (5, 24)).astype(np.float32)}
    shapes = {"w": (24, 10), "b": (10,)}
    constants = {key: rng.normal(0, 1, shape).astype("f") for key, shape in shapes.items()}
    nodes: list[Node] = [("Gemm", operands, "y", {"alpha": 0.3, "beta": 1.7})]
    Net(nodes, data, constants).check_near(2.0**-21, in_float=True)


def reals(rng: np.random.Generator, *shape: int) -> Array:
    return rng.normal(0, 1, shape).astype(np.float32)


def of_matrices(turned: tuple[int, int], alpha: float) -> Net:
    rng = np.random.default_rng(1)
    shapes = [(5, 8), (8, 7)]
    data = {
        name: reals(rng, 2, 3, *(shape[::-1] if is_turned else shape))
        for name, shape, is_turned in zip("ab", shapes, turned, strict=True)
    }
    attributes = {"transA": turned[0], "transB": turned[1], "alpha": alpha}
    return Net([("FusedMatMul", "a b", "y", attributes)], data)


test_products_of_matrices = equal(each(of_matrices, [(0, 0), (1, 0), (0, 1), (1, 1)], [1.0, 0.37]))


ACTIVATIONS: dict[str, dict[str, float]] = {
    "Relu": {},
    "Sigmoid": {},
    "Tanh": {},
    "LeakyRelu": {"activation_alpha": 0.1},
    "HardSigmoid": {"activation_alpha": 0.3, "activation_beta": 0.4},
}


def with_activation(activation: str) -> Net:
    rng = np.random.default_rng(2)
    data, constants = {"x": reals(rng, 4, 8)}, {"w": reals(rng, 6, 8), "b": reals(rng, 6)}
    attributes = {"activation": activation, "transB": 1, **ACTIVATIONS[activation]}
    return Net([("FusedGemm", "x w b", "y", attributes)], data, constants)


test_activations_of_products = equal(each(with_activation, ACTIVATIONS))


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


SQUARES = [reals(np.random.default_rng(3), 8, 8) for _ in "ab"]
test_attributes_that_are_refused = refused(
    ("transposed batches", one("FusedMatMul", *SQUARES, transBatchA=1)),
    ("the activation 'Sine'", one("FusedGemm", *SQUARES, activation="Sine")),
    ("are not those of the operator", one("FusedGemm", *SQUARES, activation=5)),
    (
        "'transA' must be a whole number, got 0.5",
        one("FusedGemm", *SQUARES, activation="Relu", transA=0.5),
    ),
    ("'transBatchA' must be a whole", one("FusedMatMul", *SQUARES, transBatchA=np.inf)),
    error=UnsupportedOperatorError,
)


PARAMETERS: dict[str, list[float]] = {
    "Relu": [],
    "Sigmoid": [],
    "Tanh": [],
    "LeakyRelu": [0.1],
    "HardSigmoid": [0.3, 0.4],
    "Clip": [-0.5, 1.5],
}


def convolution_with_activation(activation: str, operands: str) -> Net:
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
    return Net([("FusedConv", operands, "y", attributes)], data, known)


test_convolutions_with_an_activation = equal(
    each(convolution_with_activation, PARAMETERS, ["x w", "x w b", "x w b z"])
)


IMAGE, WINDOW = np.zeros((1, 1, 4, 4), np.float32), np.zeros((1, 1, 3, 3), np.float32)
test_convolutions_that_are_refused = refused(
    (
        "the activation 'Gelu' with 0 parameters",
        one("FusedConv", IMAGE, Held(WINDOW), activation="Gelu"),
    ),
    (
        "'group' must be a whole number, got 0.5",
        one("FusedConv", IMAGE, Held(WINDOW), activation="Relu", group=0.5),
    ),
    error=UnsupportedOperatorError,
)

ROWS, DEPTH, UNITS = 7, 96, 10


def model_of_float_products(form: str, dtype: str) -> Net:
    """Return a product as "Gemm", "Gemm without bias" or "MatMul" of a QDQ model, or "QGemm"."""
    rng = np.random.default_rng(13)
    is_transposed = form != "MatMul"
    shape = (UNITS, DEPTH) if is_transposed else (DEPTH, UNITS)
    scales = rng.uniform(0.001, 0.02, UNITS).astype(np.float32)
    constants: dict[str, Any] = {
        "sx": np.float32(0.0437),
        "zx": np.asarray(np.iinfo(dtype).min + 117).astype(dtype),
        "w": rng.integers(-127, 128, shape).astype(np.int8),
        "sw": scales,
        "zw": np.zeros(UNITS, np.int8),
        "b": rng.integers(-9000, 9000, UNITS).astype(np.int32),
        "sb": np.float32(0.0437) * scales,
    }
    turned, axis = {"transB": 1} if is_transposed else {}, {"axis": 0 if is_transposed else 1}
    nodes: list[Node] = [
        *pair("x sx zx", "real"),
        ("DequantizeLinear", "w sw zw", "weights", axis),
        ("DequantizeLinear", "b sb", "bias", {"axis": 0}),
        (form.split()[0], "real weights bias" if form == "Gemm" else "real weights", "y", turned),
    ]
    if form == "QGemm":
        nodes = [("QuantizeLinear", "x sx zx", "q"), ("QGemm", "q sx zx w sw zw b", "y", turned)]
    data = {"x": rng.normal(0, 3, (ROWS, DEPTH)).astype(np.float32)}
    return Net(nodes, data, constants, ["y"])


FORMS = ("Gemm", "Gemm without bias", "MatMul", "QGemm")
test_products_have_all_bits = equal(
    each(model_of_float_products, FORMS, ("uint8", "int8")), in_float=True
)


# Relu at a point of 0 and a Clip without ends are dropped; Relu at another point is not.
CLIPS = {"Relu at 0": ("Relu", 0), "Relu at 3": ("Relu", 3), "Clip": ("Clip", 3)}


def clipped(product: str, clip: str, outputs: str, other: str) -> Net:
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
        *pair("x scale point", "real"),
        ("DequantizeLinear", "matrix step none", "weights"),
        (product, "real weights", "sums"),
        (name, "sums", "clipped"),
        *pair("clipped last_scale last_point", "y"),
    ]
    results = outputs.split()
    if other:
        nodes.append(("Abs", other, "absolute"))
        results.append("absolute")
    return Net(nodes, data, constants, results)


test_a_clip_that_is_quantized_may_leave_the_product_in_float = equal(
    each(clipped, ("MatMul", "Gemm"), CLIPS, ("y", "sums y", "clipped y"), ("", "sums", "clipped")),
    in_float=True,
)
