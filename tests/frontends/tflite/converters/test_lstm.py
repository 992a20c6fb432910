"""UNIDIRECTIONAL_SEQUENCE_LSTM of int8."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tvm_qnn
from frontends.tflite import from_tflite
from frontends.tflite.quantization import Quantization
from frontends.tflite.writer import ModelWriter
from qnn_ops.errors import QnnError
from tests.support.arrays import full_range
from tests.support.lstm_models import LstmModel
from tvm_qnn.compare import compare

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
    with pytest.raises(QnnError, match=f"input {place} is missing"):
        from_tflite(LstmModel().write(changes={place: -1}))


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
    with pytest.raises(QnnError, match=f"operator 0 UNIDIRECTIONAL_SEQUENCE_LSTM.*{message}"):
        from_tflite(model.write(**changes))


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
