"""RNN, UNIDIRECTIONAL_SEQUENCE_RNN and the bidirectional layers."""

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
from tests.support.bidirectional import BothWays
from tests.support.float_lstm import Lstm
from tests.support.rnn_models import Rnn
from tvm_qnn.oracle import litert_runs

# Sums of products of numbers of about 1, in other orders; no value that is quantized is at a tie.
_TOLERANCE = 2e-6


@pytest.mark.parametrize(
    "model",
    [
        Rnn(),
        Rnn(batch=2, time_major=True, activation="RELU6"),
        Rnn("int8", batch=3, steps=4, asymmetric=True),
        Rnn("uint8", steps=1, activation="NONE"),
        Rnn("int8", batch=2, steps=0, size=40, units=33, activation="RELU"),
        Rnn(steps=0, batch=2),
        Rnn("int8", activation="SIGN_BIT"),
        Rnn(batch=2, activation="SIGN_BIT"),
    ],
    ids=str,
)
def test_every_run_of_a_stream_is_near_litert(model: Rnn) -> None:
    content, rng = model.write(), np.random.default_rng(5)
    runs = [[rng.normal(0, 1, model.shape).astype(np.float32)] for _ in range(4)]
    runs[2][0][:] = 0
    mod, params = from_tflite(content)
    library = tvm_qnn.build(mod, "host", params)
    (output,) = read_model(content).outputs
    for (x,), expected in zip(runs, litert_runs(content, runs), strict=True):
        np.testing.assert_allclose(library.run(x), expected[output], rtol=0, atol=_TOLERANCE)


@pytest.mark.parametrize(
    ("place", "shape", "message"),
    [
        (1, (7, 5), r"has shape \(7, 5\), needs \(7, 6\)"),
        (2, (7, 6), r"has shape \(7, 6\), needs \(7, 7\)"),
        (3, (6,), r"has shape \(6,\), needs \(7,\)"),
    ],
)
def test_operands_that_do_not_fit(place: int, shape: tuple[int, ...], message: str) -> None:
    writer, model = ModelWriter(), Rnn()
    x = writer.tensor("x", model.shape, "float32")
    operands, options = model.parts(writer, np.random.default_rng(0), x)
    array = np.zeros(shape, np.float32)
    operands[place] = writer.tensor("other", shape, "float32", None, array)
    y = writer.tensor("y", model.result, "float32")
    writer.operator(model.code, operands, [y], **options)
    with pytest.raises(QnnError, match=message):
        from_tflite(writer.finish([x], [y]))


def test_more_outputs_than_memory_are_refused() -> None:
    with pytest.raises(QnnError, match="makes a tensor of 1,207,959,552 bytes"):
        from_tflite(Rnn(batch=3, steps=1 << 24).write())


@pytest.mark.parametrize(
    "model",
    [
        BothWays(Lstm()),
        BothWays(Lstm(batch=2, coupled=True, cell_clip=0.6), merged=False),
        BothWays(Lstm("int8", peepholes=True, outputs=4), beside=3),
        BothWays(Lstm("uint8", batch=2, time_major=True, asymmetric=True, coupled=True), beside=3),
        BothWays(Lstm("int8", batch=2, time_major=True), beside=6, crossed=False, merged=False),
        BothWays(Lstm(steps=1), beside=2),
        BothWays(Rnn()),
        BothWays(Rnn(batch=2, activation="RELU6"), beside=6, merged=False),
        BothWays(Rnn("int8", batch=2, asymmetric=True), beside=6),
        BothWays(Rnn("uint8", steps=1)),
        BothWays(Rnn(batch=2, time_major=True), beside=6, crossed=False, merged=False),
    ],
    ids=str,
)
def test_every_run_of_a_stream_is_near_litert_of_bidirectional(model: BothWays) -> None:
    content, rng = model.write(), np.random.default_rng(5)
    runs = [
        [rng.normal(0, 1, shape).astype(np.float32) for shape in model.shapes] for _ in range(3)
    ]
    runs[1][0][:] = 0
    mod, params = from_tflite(content)
    library = tvm_qnn.build(mod, "host", params)
    outputs = read_model(content).outputs
    for arrays, expected in zip(runs, litert_runs(content, runs), strict=True):
        result: Any = library.run(*arrays)
        found = list(result.values()) if isinstance(result, dict) else [result]
        for array, index in zip(found, outputs, strict=True):
            np.testing.assert_allclose(array, expected[index], rtol=0, atol=_TOLERANCE)


def changed(model: BothWays, changes: dict[int, int], outputs: int = 0) -> bytes:
    """Write a model with other operands, or fewer outputs."""
    writer = ModelWriter()
    data = [writer.tensor(f"x{i}", shape, "float32") for i, shape in enumerate(model.shapes)]
    operands, options = model.parts(writer, np.random.default_rng(0), data)
    for place, other in changes.items():
        operands[place] = operands[other] if other >= 0 else -1
    made = [writer.tensor(f"y{i}", shape, "float32") for i, shape in enumerate(model.results)]
    writer.operator(model.code, operands, made[: outputs or None], **options)
    return writer.finish(data, made[: outputs or None])


@pytest.mark.parametrize(
    ("model", "changes", "message"),
    [
        (BothWays(Lstm()), {19: -1}, "input 19 is missing"),
        (BothWays(Lstm()), {23: 2}, r"has shape \(7, 6\), needs \(7, 7\)"),
        (BothWays(Lstm(coupled=True), beside=3), {44: 45}, "input 44 is weights of the input gate"),
        (BothWays(Lstm(), beside=3), {39: -1}, "input 39 is missing"),
        (BothWays(Lstm(), beside=3), {39: 2}, r"must have 3 dimensions, has shape \(7, 6\)"),
        (BothWays(Lstm(), beside=3), {41: -1}, "weights for one of the two layers"),
        (BothWays(Lstm(), beside=3), {46: 2}, r"has shape \(7, 6\), needs \(7, 3\)"),
        (BothWays(Rnn()), {8: -1}, "input 8 is missing"),
        (BothWays(Rnn()), {8: 3}, "is no variable tensor"),
        (BothWays(Rnn(), beside=6), {9: 1}, r"is float32 of shape \(7, 6\)"),
        (BothWays(Rnn(), beside=6), {10: -1}, "weights for one of the two layers"),
        (BothWays(Rnn(), beside=6), {11: 1}, r"has shape \(7, 6\), needs \(5, 6\)"),
    ],
)
def test_operands_that_do_not_fit_of_bidirectional(
    model: BothWays, changes: dict[int, int], message: str
) -> None:
    with pytest.raises(QnnError, match=f"operator 0 {model.code}.*{message}"):
        from_tflite(changed(model, changes))


def test_a_result_that_is_missing() -> None:
    with pytest.raises(QnnError, match="needs 2 outputs, got 1"):
        from_tflite(changed(BothWays(Rnn(), merged=False), {}, 1))


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (BothWays(Lstm(batch=2)), "of several images with one result"),
        (BothWays(Rnn("int8", time_major=True)), "hybrid, with steps before the batch"),
        (BothWays(Rnn(), beside=6, crossed=False), "a second sequence without weights"),
        (BothWays(Rnn(), beside=3), "a second sequence of another size"),
    ],
)
def test_what_litert_mixes_up_is_refused(model: BothWays, message: str) -> None:
    with pytest.raises(UnsupportedOperatorError, match=message):
        from_tflite(model.write())


def test_data_of_integers_is_refused() -> None:
    writer = ModelWriter()
    x, y = (writer.tensor(name, (1, 2, 3), "int8") for name in "xy")
    writer.operator("BIDIRECTIONAL_SEQUENCE_LSTM", [x], [y])
    with pytest.raises(UnsupportedOperatorError, match="of int8 data"):
        from_tflite(writer.finish([x], [y]))
