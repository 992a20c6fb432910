"""The basic kernel of LSTM: one step, and one tensor of weights for all gates."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tvm_qnn
from frontends.errors import UnsupportedOperatorError
from frontends.tflite import from_tflite
from frontends.tflite.reader import read_model
from frontends.tflite.writer import ModelWriter
from qnn_ops.errors import QnnError
from tests.support.arrays import full_range
from tests.support.basic_lstm import DATA, BasicLstm
from tests.support.tflite import check_refused
from tvm_qnn.compare import compare
from tvm_qnn.oracle import litert_runs


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
    check_refused(write(model, **changes), message, error)


# As of LSTM's other kernel: sums in another order, and other polynomials, of values below 1 or of
# cells' size.
_TOLERANCE = 2e-6


def write_lstm_basic_floats(
    batch: int, size: int, units: int, *, keeps: bool = True, dtype: str = "float32", **changed: Any
) -> bytes:
    """Write a model of one step, with other shapes of operands, by name, if they are given."""
    writer, rng = ModelWriter(), np.random.default_rng(units)
    shapes = {
        "x": (batch, size),
        "hidden": (batch, units),
        "weights": (4 * units, size + units),
        "bias": (4 * units,),
        "cells": (batch, units),
        **changed.pop("shapes", {}),
    }
    indices = []
    for name, shape in shapes.items():
        is_constant = name in ("weights", "bias")
        kind = dtype if name == "weights" else "float32"
        data = rng.normal(0, 0.4, shape).astype(kind) if is_constant else None
        is_state = name in ("hidden", "cells") and keeps
        indices.append(writer.tensor(name, shape, kind, None, data, is_variable=is_state))
    made = {
        "y": (batch, units),
        "new": (batch, units),
        "rows": (batch, size + units),
        "sums": (batch, 4 * units),
    }
    results = [writer.tensor(name, shape, "float32") for name, shape in made.items()]
    options = {"fused_activation_function": "TANH", "kernel_type": 1, **changed}
    writer.operator("LSTM", indices, results, version=2, **options)
    inputs = indices[:1] if keeps else [indices[0], indices[1], indices[4]]
    return writer.finish(inputs, results[:2])


@pytest.mark.parametrize(
    ("batch", "size", "units", "keeps"), [(2, 5, 6, True), (1, 40, 33, True), (3, 4, 9, False)]
)
def test_every_run_of_a_stream_is_near_litert(
    batch: int, size: int, units: int, keeps: bool
) -> None:
    content, rng = (
        write_lstm_basic_floats(batch, size, units, keeps=keeps),
        np.random.default_rng(5),
    )
    graph = read_model(content)
    runs = [
        [rng.normal(0, 1, graph.tensors[i].shape).astype(np.float32) for i in graph.inputs]
        for _ in range(4)
    ]
    mod, params = from_tflite(content)
    library = tvm_qnn.build(mod, "host", params)
    for arrays, expected in zip(runs, litert_runs(content, runs), strict=True):
        found = library.run(*arrays)
        for index, each in zip(graph.outputs, found.values(), strict=True):
            np.testing.assert_allclose(each, expected[index], rtol=0, atol=_TOLERANCE)


@pytest.mark.parametrize(
    ("changed", "error", "message"),
    [
        ({"fused_activation_function": "RELU"}, UnsupportedOperatorError, "another activation"),
        ({"dtype": "int8"}, UnsupportedOperatorError, "the basic kernel of float32, float32, int8"),
        ({"shapes": {"bias": (25,)}}, QnnError, r"has shape \(25,\), needs \(24,\)"),
        ({"shapes": {"weights": (24, 12)}}, QnnError, r"has shape \(24, 12\), needs \(24, 11\)"),
        ({"shapes": {"hidden": (1, 6)}}, QnnError, r"has shape \(1, 6\), needs \(2, 6\)"),
        ({"shapes": {"bias": ()}}, QnnError, "needs"),
    ],
)
def test_what_is_refused(changed: dict[str, Any], error: Any, message: str) -> None:
    check_refused(write_lstm_basic_floats(2, 5, 6, **changed), message, error)
