"""A network like BERT, quantized by ONNX Runtime's own functions."""

import warnings
from typing import Any

import numpy as np
import pytest

import tvm_qnn as qnn
from benchmarks.transformer import TINY, dynamic, network, sentence, static
from frontends.onnx import from_onnx
from tests.support.onnx_graphs import on_runtime

SHAPES = {"tokens": (1, TINY.tokens), "mask": (1, TINY.tokens)}


def results(model: Any, seed: int) -> tuple[Any, Any]:
    data = sentence(TINY, seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what ONNX Runtime leaves in float, too
        mod, params = from_onnx(model, SHAPES)
        library = qnn.build(mod, "host", params)
    result = library.run(*data.values())
    ours = next(iter(result.values())) if isinstance(result, dict) else result
    return ours, on_runtime(model, data)[0]


@pytest.mark.parametrize("per_channel", [False, True])
def test_quantized_when_it_runs(per_channel: bool) -> None:
    model = dynamic(network(TINY), per_channel=per_channel)
    assert any(node.op_type == "MatMulInteger" for node in model.graph.node)
    ours, theirs = results(model, 1)
    # A byte at a tie may be another, as sums of floats have another order.
    np.testing.assert_allclose(ours, theirs, atol=0.02)


@pytest.mark.parametrize(
    ("activations", "qdq"), [("QUInt8", True), ("QInt8", True), ("QUInt8", False)]
)
def test_quantized_before(activations: str, qdq: bool) -> None:
    model = static(network(TINY), TINY, activations=activations, qdq=qdq)
    # The same byte at a tie may be another: Softmax and LayerNormalization are float32 between.
    np.testing.assert_allclose(*results(model, 1), atol=0.05)


def test_products_of_activations_are_integers() -> None:
    model = static(network(TINY), TINY)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        mod = qnn.fold_qdq(from_onnx(model, SHAPES)[0])
    text = mod.script()
    assert text.count("R.qnn.quantized_matmul(") == 2 * TINY.layers
    assert "R.matmul(" not in text
