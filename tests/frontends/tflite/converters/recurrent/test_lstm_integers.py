"""The basic kernel of LSTM: one step, and one tensor of weights for all gates."""

from functools import partial
from typing import Any

import numpy as np
import pytest

from frontends.errors import UnsupportedOperatorError
from frontends.tflite.reader import read_model
from qnn_ops.errors import QnnError
from tests.support.arrays import full_range
from tests.support.recurrent_layers import BasicLstm, layer_model
from tests.support.tflite import Operand, check_refused, fixed, library_of
from tvm_qnn.compare import compare
from tvm_qnn.oracle import litert_runs


@pytest.mark.parametrize(
    "model",
    [
        BasicLstm(),
        BasicLstm(3, 40, 33, 0.003),
        BasicLstm(2, 3, 9, 0.3, keeps=False),
        BasicLstm(9, 64, 40, 0.001, keeps=False),
        BasicLstm(1, 64, 16, 0.001),
    ],
    ids=str,
)
def test_every_run_of_a_stream_equals_litert(model: BasicLstm) -> None:
    content, rng = layer_model(model), np.random.default_rng(1)
    graph = read_model(content)
    inputs = [graph.tensors[index] for index in graph.inputs]
    first, *then = [[full_range(rng, t.dtype, t.shape) for t in inputs] for _ in range(4)]
    comparison = compare(content, first, "llvm", then=then)
    assert comparison.differing == ()
    assert len(comparison.tensors) == 4


@pytest.mark.parametrize(
    ("model", "changes", "error", "message"),
    [
        (BasicLstm(), {"outputs": 3}, QnnError, "needs 5 inputs and 4 outputs, got 5 and 3"),
        (BasicLstm(), {"changes": {2: None}}, QnnError, "input 2 is missing"),
        (BasicLstm(), {"changes": {1: 0}}, QnnError, r"has shape \(2, 5\), needs \(2, 6\)"),
        (BasicLstm(), {"changes": {4: 3}}, UnsupportedOperatorError, "the basic kernel of uint8"),
        (
            BasicLstm(),
            {"fused_activation_function": "RELU"},
            UnsupportedOperatorError,
            "another activation than TANH",
        ),
        (BasicLstm(cell_scale=2.0**-12), {}, UnsupportedOperatorError, "another scale than"),
        (BasicLstm(1, 3, units=0, real=True), {}, QnnError, "needs 4 numbers for each unit"),
        (BasicLstm(scale=1e6), {}, UnsupportedOperatorError, "which int32 does not hold"),
    ],
)
def test_what_does_not_fit(model: BasicLstm, changes: Any, error: Any, message: str) -> None:
    check_refused(layer_model(model, **changes), message, error)


# As of LSTM's other kernel: sums in another order, and other polynomials, of values below 1 or of
# cells' size.
_TOLERANCE = 2e-6


real = partial(BasicLstm, real=True)


@pytest.mark.parametrize("model", [real(), real(1, 40, 33), real(3, 4, 9, keeps=False)], ids=str)
def test_every_run_of_a_stream_is_near_litert(model: BasicLstm) -> None:
    content, rng = layer_model(model), np.random.default_rng(5)
    outputs = read_model(content).outputs
    runs = [
        [rng.normal(0, 1, shape).astype(np.float32) for shape, *_ in model.takes] for _ in range(4)
    ]
    library = library_of(content, "host")
    for arrays, expected in zip(runs, litert_runs(content, runs), strict=True):
        for index, each in zip(outputs, library.run(*arrays).values(), strict=True):
            np.testing.assert_allclose(each, expected[index], rtol=0, atol=_TOLERANCE)


def zeros(*shape: int, dtype: str = "float32") -> Operand:
    return fixed(np.zeros(shape), dtype)


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"fused_activation_function": "RELU"}, UnsupportedOperatorError, "another activation"),
        (
            {"changes": {2: zeros(24, 11, dtype="int8")}},
            UnsupportedOperatorError,
            "the basic kernel of float32, float32, int8",
        ),
        ({"changes": {3: zeros(25)}}, QnnError, r"has shape \(25,\), needs \(24,\)"),
        ({"changes": {2: zeros(24, 12)}}, QnnError, r"has shape \(24, 12\), needs \(24, 11\)"),
        ({"changes": {1: zeros(1, 6)}}, QnnError, r"has shape \(1, 6\), needs \(2, 6\)"),
        ({"changes": {3: zeros()}}, QnnError, "needs"),
    ],
)
def test_what_is_refused(changes: dict[str, Any], error: Any, message: str) -> None:
    check_refused(layer_model(real(), **changes), message, error)
