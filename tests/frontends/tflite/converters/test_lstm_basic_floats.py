"""The basic kernel of LSTM, of float32."""

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
from tvm_qnn.oracle import litert_runs

# As of LSTM's other kernel: sums in another order, and other polynomials, of values below 1 or of
# cells' size.
_TOLERANCE = 2e-6


def write(
    batch: int, size: int, units: int, *, keeps: bool = True, dtype: str = "float32", **changed: Any
) -> bytes:
    """Write a model of one step; of other shapes of operands, by name, where they are given."""
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
    content, rng = write(batch, size, units, keeps=keeps), np.random.default_rng(5)
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
    with pytest.raises(error, match=message):
        from_tflite(write(2, 5, 6, **changed))
