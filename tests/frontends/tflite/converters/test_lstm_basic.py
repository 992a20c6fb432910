"""The basic kernel of LSTM."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from frontends.errors import UnsupportedOperatorError
from frontends.tflite import from_tflite
from frontends.tflite.reader import read_model
from frontends.tflite.writer import ModelWriter
from qnn_ops.errors import QnnError
from tests.support.arrays import full_range
from tests.support.basic_lstm import DATA, BasicLstm
from tvm_qnn.compare import compare


def write(model: BasicLstm, changes: dict[int, int] | None = None, **changed: Any) -> bytes:
    """Write a model of it alone, with other operands or options."""
    writer = ModelWriter()
    x = writer.tensor("x", (model.batch, model.size), "uint8", DATA)
    operands, results, options = model.parts(writer, np.random.default_rng(model.units), x)
    for place, other in (changes or {}).items():
        operands[place] = other if other < 0 else operands[other]
    given = [x] if model.keeps else [x, operands[1], operands[4]]
    count = changed.pop("outputs", 4)
    writer.operator("LSTM", operands, results[:count], version=2, **{**options, **changed})
    return writer.finish(given, results[:2])


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
    content, rng = write(model), np.random.default_rng(1)
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
        (BasicLstm(), {"changes": {2: -1}}, QnnError, "input 2 is missing"),
        (BasicLstm(), {"changes": {1: 0}}, QnnError, r"has shape \(2, 5\), needs \(2, 6\)"),
        (BasicLstm(), {"changes": {4: 3}}, UnsupportedOperatorError, "the basic kernel of uint8"),
        (
            BasicLstm(),
            {"fused_activation_function": "RELU"},
            UnsupportedOperatorError,
            "another activation than TANH",
        ),
        (
            BasicLstm(cell_scale=2.0**-12),
            {},
            UnsupportedOperatorError,
            "another scale than",
        ),
        (BasicLstm(scale=1e6), {}, UnsupportedOperatorError, "which int32 does not hold"),
    ],
)
def test_what_does_not_fit(model: BasicLstm, changes: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        from_tflite(write(model, **changes))
