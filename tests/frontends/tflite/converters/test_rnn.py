"""RNN and UNIDIRECTIONAL_SEQUENCE_RNN."""

from __future__ import annotations

import numpy as np
import pytest

import tvm_qnn
from frontends.tflite import from_tflite
from frontends.tflite.reader import read_model
from frontends.tflite.writer import ModelWriter
from qnn_ops.errors import QnnError
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
