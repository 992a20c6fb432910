"""RNN, UNIDIRECTIONAL_SEQUENCE_RNN and the bidirectional layers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tvm_qnn
from frontends.errors import UnsupportedOperatorError
from frontends.tflite import from_tflite
from frontends.tflite.quantization import Quantization
from frontends.tflite.reader import read_model
from frontends.tflite.writer import ModelWriter
from tests.support.arrays import full_range
from tests.support.bidirectional import BothWays
from tests.support.float_lstm import Lstm
from tests.support.lstm_models import LstmModel
from tests.support.rnn_models import Rnn
from tests.support.tflite import check_refused, one, refused, x
from tvm_qnn.compare import compare
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
    for (data,), expected in zip(runs, litert_runs(content, runs), strict=True):
        np.testing.assert_allclose(library.run(data), expected[output], rtol=0, atol=_TOLERANCE)


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
    check_refused(writer.finish([x], [y]), message)


def test_more_outputs_than_memory_are_refused() -> None:
    check_refused(Rnn(batch=3, steps=1 << 24).write(), "makes a tensor of 1,207,959,552 bytes")


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
    check_refused(changed(model, changes), f"operator 0 {model.code}.*{message}")


def test_a_result_that_is_missing() -> None:
    check_refused(changed(BothWays(Rnn(), merged=False), {}, 1), "needs 2 outputs, got 1")


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
    check_refused(model.write(), message, UnsupportedOperatorError)


test_data_of_integers_is_refused = refused(
    ("of int8 data", one("BIDIRECTIONAL_SEQUENCE_LSTM", x(1, 2, 3))), error=UnsupportedOperatorError
)
Array = np.ndarray[Any, Any]


def stream(model: LstmModel, runs: int) -> list[list[Array]]:
    rng = np.random.default_rng(3)
    return [[full_range(rng, "int8", model.shape)] for _ in range(runs)]


@pytest.mark.parametrize(
    "model",
    [
        LstmModel(),
        LstmModel(batch=3, coupled=True, cell_scale=-11),
        LstmModel(batch=2, time_major=True, shift=2, cell_clip=1.5),
        LstmModel(steps=1, time_major=True, cell_scale=-15),
        LstmModel(peepholes=True, batch=2, time_major=True),
        LstmModel(peepholes=True, coupled=True, outputs=4, proj_clip=0.4),
        LstmModel(outputs=9, batch=2, time_major=True, cell_scale=-9, shift=3),
        LstmModel(cell_scale=-13, time_major=True, size=2, cells=3, shift=4),
        LstmModel(norm=True, cells=8),
        LstmModel(norm=True, coupled=True, peepholes=True, outputs=5, shift=1),
    ],
    ids=str,
)
def test_every_run_of_a_stream_equals_litert(model: LstmModel) -> None:
    first, *then = stream(model, 4)
    comparison = compare(model.write(), first, then=then)
    assert comparison.differing == ()
    assert (comparison.runs, len(comparison.tensors)) == (4, 1)


def test_a_run_goes_on_where_the_one_before_ended() -> None:
    model = LstmModel(steps=6)
    mod, params = from_tflite(model.write())
    whole = tvm_qnn.build(mod, "llvm", params)
    (x,) = stream(model, 1)[0]
    expected = whole.run(x)
    mod, params = from_tflite(LstmModel(steps=2).write())
    parts = tvm_qnn.build(mod, "llvm", params)
    found = [parts.run(x[:, first : first + 2]) for first in (0, 2, 4)]
    np.testing.assert_array_equal(np.concatenate(found, axis=1), expected)
    parts.reset()
    np.testing.assert_array_equal(parts.run(x[:, :2]), found[0])


@pytest.mark.parametrize("place", [0, 2, 3, 4, 6, 7, 8, 13, 14, 15, 18, 19])
def test_what_is_missing_is_named(place: int) -> None:
    check_refused(LstmModel().write(changes={place: -1}), f"input {place} is missing")


@pytest.mark.parametrize(
    ("model", "changes", "message"),
    [
        (LstmModel(), {"changes": {1: -1}}, "input 5 is weights of the input gate"),
        (LstmModel(), {"changes": {1: -1, 5: -1}}, "input 12 is a bias of the input gate"),
        (LstmModel(), {"changes": {5: -1}}, "input 5 is missing"),
        (LstmModel(norm=True), {"changes": {20: -1}}, "input 20 is missing"),
        (LstmModel(peepholes=True), {"changes": {11: -1}}, "input 11 is missing"),
        (LstmModel(outputs=7), {"changes": {16: -1}}, "input 16 is missing"),
        (LstmModel(outputs=3), {"changes": {16: -1, 17: -1}}, "3 outputs, but no projection"),
        (LstmModel(), {"inputs": 19}, "needs 20 or 24 inputs, got 19"),
        (LstmModel(), {"intermediates": 4}, "needs 5 intermediates, got 4"),
        (LstmModel(), {"changes": {3: 7}}, r"has shape \(7, 7\), needs \(7, 6\)"),
        (LstmModel(), {"changes": {8: 13}}, "must have 2 dimensions, has shape"),
        (LstmModel(), {"changes": {0: 1}}, "must have 3 dimensions, has shape"),
        (LstmModel(), {"changes": {13: 19}}, r"has shape \(1, 7\), needs \(7,\)"),
        (LstmModel(), {"changes": {18: 19}}, "is int16 of shape"),
        (LstmModel(), {"changes": {19: 18}}, "is int8 of shape"),
        (LstmModel(cells=6), {"changes": {18: 12}}, "is no variable tensor"),
        (LstmModel(norm=True), {"changes": {21: 14}}, "is int32, needs int16"),
        (LstmModel(cell_scale=-16), {}, r"has the scale 2\^-16, not -15 to -9"),
        (LstmModel(cell_clip=-1.0), {}, "clips at -1.0, which is below 0"),
        (LstmModel(peepholes=True, outputs=8), {}, "peepholes of 7 cells with 8 outputs"),
    ],
)
def test_what_does_not_fit_is_one_error(
    model: LstmModel, changes: dict[str, Any], message: str
) -> None:
    check_refused(model.write(**changes), f"operator 0 UNIDIRECTIONAL_SEQUENCE_LSTM.*{message}")


@pytest.mark.parametrize(
    "model", [LstmModel(batch=2, steps=1, peepholes=True), LstmModel(steps=1, outputs=5, norm=True)]
)
def test_an_operator_of_one_step_equals_litert(model: LstmModel) -> None:
    rng, writer = np.random.default_rng(2), ModelWriter()
    shape = (model.batch, model.size)
    x = writer.tensor("x", shape, "int8", Quantization.per_tensor(0.05, 3))
    operands, encoding, options = model.parts(writer, rng, x)
    del options["time_major"]
    y = writer.tensor("y", (model.batch, model.result[-1]), "int8", encoding)
    writer.operator("LSTM", operands, [y], **options)
    content = writer.finish([x], [y])
    runs = [[full_range(rng, "int8", shape)] for _ in range(3)]
    assert compare(content, runs[0], "llvm", then=runs[1:]).differing == ()
