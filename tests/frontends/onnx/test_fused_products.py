"""Float products that ONNX Runtime has fused, against it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.transformer import TINY, dynamic, network, sentence
from frontends.errors import UnsupportedOperatorError
from frontends.onnx import from_onnx
from tests.support.onnx_graphs import (
    Array,
    check_equal,
    compiled,
    model_of,
    on_runtime,
    onnx,
    onnxruntime,
)


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
