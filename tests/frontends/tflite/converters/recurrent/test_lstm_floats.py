"""UNIDIRECTIONAL_SEQUENCE_LSTM of float32, with weights of float32 or of bytes."""

from typing import Any

import numpy as np
import pytest

import tvm_qnn
from frontends.errors import UnsupportedOperatorError
from frontends.tflite import from_tflite
from frontends.tflite.reader import read_model
from frontends.tflite.writer import ModelWriter
from qnn_ops.errors import QnnError
from tests.support.recurrent_layers import CODE, GATES, Lstm, layer_model
from tests.support.tflite import check_refused, library_of
from tvm_qnn.oracle import litert_runs

# Both programs add up products in an order of their own, and compute exponentials by a polynomial,
# each to some units in the last place. Values are below 1, or as large as cells; gates forget, so
# that errors do not grow. A value that is quantized at a tie could go either way: none here does.
_TOLERANCE = 2e-6


@pytest.mark.parametrize(
    "model",
    [
        Lstm(),
        Lstm(batch=2, time_major=True, coupled=True, cell_clip=0.6),
        Lstm(steps=1, peepholes=True),
        Lstm(peepholes=True, coupled=True, outputs=4, proj_clip=0.4),
        Lstm("int8"),
        Lstm("int8", batch=3, peepholes=True, asymmetric=True),
        Lstm("uint8", steps=1, coupled=True),
        Lstm("int8", batch=2, outputs=5, time_major=True, size=40, units=33),
        Lstm(norm=True, batch=2, units=33),
        Lstm(norm=True, coupled=True, peepholes=True, outputs=4, cell_clip=0.6, time_major=True),
        Lstm("int8", norm=True, peepholes=True, batch=2),
        Lstm("uint8", norm=True, coupled=True, steps=1, outputs=3, asymmetric=True),
        Lstm(activation="RELU", cell_clip=0.7),
        Lstm("uint8", activation="NONE", cell_clip=0.7, batch=2, norm=True, peepholes=True),
        Lstm("int8", activation="NONE", coupled=True, outputs=4, steps=2),
        Lstm(steps=None, batch=2, peepholes=True, outputs=3),
        Lstm("int8", steps=None, coupled=True, norm=True, activation="RELU6"),
        Lstm("int8", activation="SIGN_BIT", peepholes=True),
    ],
    ids=str,
)
def test_every_run_of_a_stream_is_near_litert(model: Lstm) -> None:
    content = layer_model(model)
    rng = np.random.default_rng(5)
    runs = [[rng.normal(0, 1, model.takes[0][0]).astype(np.float32)] for _ in range(4)]
    runs[2][0][:] = 0
    library = library_of(content, "host")
    (output,) = read_model(content).outputs
    for (x,), expected in zip(runs, litert_runs(content, runs), strict=True):
        np.testing.assert_allclose(library.run(x), expected[output], rtol=0, atol=_TOLERANCE)


@pytest.mark.parametrize("gate", ["cell", "output"])
def test_gates_are_within_six_units_of_litert(gate: str) -> None:
    # All other gates are open, so that results are tanh(tanh(x)) or logistic(x) · tanh(1): two
    # functions, of which each is within three units here, and Eigen's within some there.
    writer, x = ModelWriter(), np.linspace(-20, 20, 4001, dtype=np.float32).reshape(-1, 1, 1)

    def constant(value: float, *shape: int) -> int:
        array = np.full(shape, value, np.float32)
        return writer.tensor(f"c{len(writer._tensors)}", shape, "float32", None, array)

    data = writer.tensor("x", x.shape, "float32")
    weights = [constant(each == gate, 1, 1) for each in GATES]
    recurrent = [constant(0, 1, 1) for _ in GATES]
    biases = [constant(0 if each == gate else 100, 1) for each in GATES]
    states = [
        writer.tensor(name, (len(x), 1), "float32", is_variable=True) for name in ("h", "cells")
    ]
    result = writer.tensor("y", x.shape, "float32")
    operands = [data, *weights, *recurrent, -1, -1, -1, *biases, -1, -1, *states, *[-1] * 4]
    writer.operator(CODE, operands, [result], fused_activation_function="TANH")
    content = writer.finish([data], [result])
    mod, params = from_tflite(content)
    (expected,) = litert_runs(content, [[x]])
    found = tvm_qnn.build(mod, "host", params).run(x)
    np.testing.assert_array_max_ulp(found, expected[result], 6)


def test_steps_of_one_run_are_those_of_several() -> None:
    whole = library_of(layer_model(Lstm("int8", steps=4)))
    parts = library_of(layer_model(Lstm("int8", steps=2)))
    x = np.random.default_rng(1).normal(0, 1, (1, 4, 6)).astype(np.float32)
    found = [parts.run(x[:, first : first + 2]) for first in (0, 2)]
    np.testing.assert_allclose(np.concatenate(found, 1), whole.run(x), rtol=0, atol=_TOLERANCE)
    for name, kept in whole.state.items():
        np.testing.assert_allclose(parts.state[name], kept, rtol=0, atol=_TOLERANCE)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"fused_activation_function": "NONE"}, UnsupportedOperatorError, "no activation"),
        ({"cell_clip": -1.0}, QnnError, "clips at -1.0, which is below 0"),
    ],
)
def test_what_is_refused(options: Any, error: Any, message: str) -> None:
    check_refused(layer_model(Lstm(), **options), message, error)
