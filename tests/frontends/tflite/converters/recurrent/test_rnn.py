"""RNN, UNIDIRECTIONAL_SEQUENCE_RNN and the bidirectional layers."""

from functools import partial
from typing import Any

import numpy as np
import pytest

import tvm_qnn
from frontends.errors import UnsupportedOperatorError
from frontends.tflite import from_tflite
from frontends.tflite.reader import read_model
from tests.support.arrays import full_range
from tests.support.errors import failing
from tests.support.recurrent_layers import BothWays, Lstm, Rnn, layer_model
from tests.support.tflite import check_refused, fixed, library_of, one, refused, x
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
        Rnn("int8", batch=2, steps=None, size=40, units=33, activation="RELU"),
        Rnn(steps=None, batch=2),
        Rnn("int8", activation="SIGN_BIT"),
        Rnn(batch=2, activation="SIGN_BIT"),
    ],
    ids=str,
)
def test_every_run_of_a_stream_is_near_litert(model: Rnn) -> None:
    content, rng = layer_model(model), np.random.default_rng(5)
    runs = [[rng.normal(0, 1, model.takes[0][0]).astype(np.float32)] for _ in range(4)]
    runs[2][0][:] = 0
    library = library_of(content, "host")
    (output,) = read_model(content).outputs
    for (data,), expected in zip(runs, litert_runs(content, runs), strict=True):
        np.testing.assert_allclose(library.run(data), expected[output], rtol=0, atol=_TOLERANCE)


test_operands_that_do_not_fit = failing(
    lambda place, shape: from_tflite(
        layer_model(Rnn(), {place: fixed(np.zeros(shape), "float32")})
    ),
    (1, (7, 5), r"has shape \(7, 5\), needs \(7, 6\)"),
    (2, (7, 6), r"has shape \(7, 6\), needs \(7, 7\)"),
    (3, (6,), r"has shape \(6,\), needs \(7,\)"),
)


def test_results_that_are_missing_or_too_large_are_refused() -> None:
    check_refused(layer_model(Rnn(batch=3, steps=1 << 24)), "makes a tensor of 1,207,959,552 bytes")
    check_refused(layer_model(BothWays(Rnn(), merged=False), outputs=1), "needs 2 outputs, got 1")


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
    content, rng = layer_model(model), np.random.default_rng(5)
    runs = [
        [rng.normal(0, 1, shape).astype(np.float32) for shape, *_ in model.takes] for _ in range(3)
    ]
    runs[1][0][:] = 0
    library = library_of(content, "host")
    outputs = read_model(content).outputs
    for arrays, expected in zip(runs, litert_runs(content, runs), strict=True):
        result: Any = library.run(*arrays)
        found = list(result.values()) if isinstance(result, dict) else [result]
        for array, index in zip(found, outputs, strict=True):
            np.testing.assert_allclose(array, expected[index], rtol=0, atol=_TOLERANCE)


@pytest.mark.parametrize(
    ("model", "changes", "message"),
    [
        (BothWays(Lstm()), {19: None}, "input 19 is missing"),
        (BothWays(Lstm()), {23: 2}, r"has shape \(7, 6\), needs \(7, 7\)"),
        (BothWays(Lstm(coupled=True), beside=3), {44: 45}, "input 44 is weights of the input gate"),
        (BothWays(Lstm(), beside=3), {39: None}, "input 39 is missing"),
        (BothWays(Lstm(), beside=3), {39: 2}, r"must have 3 dimensions, got \(7, 6\)"),
        (BothWays(Lstm(), beside=3), {41: None}, "weights for one of the two layers"),
        (BothWays(Lstm(), beside=3), {46: 2}, r"has shape \(7, 6\), needs \(7, 3\)"),
        (BothWays(Rnn()), {8: None}, "input 8 is missing"),
        (BothWays(Rnn()), {8: 3}, "is no variable tensor"),
        (BothWays(Rnn(), beside=6), {9: 1}, r"is float32 of shape \(7, 6\)"),
        (BothWays(Rnn(), beside=6), {10: None}, "weights for one of the two layers"),
        (BothWays(Rnn(), beside=6), {11: 1}, r"has shape \(7, 6\), needs \(5, 6\)"),
    ],
)
def test_operands_of_two_layers(model: BothWays, changes: dict[int, int], message: str) -> None:
    check_refused(layer_model(model, changes), f"operator 0 {model.code}.*{message}")


test_what_litert_mixes_up_is_refused = failing(
    lambda model: from_tflite(layer_model(model)),
    (BothWays(Lstm(batch=2)), "of several images with one result"),
    (BothWays(Rnn("int8", time_major=True)), "hybrid, with steps before the batch"),
    (BothWays(Rnn(), beside=6, crossed=False), "a second sequence without weights"),
    (BothWays(Rnn(), beside=3), "a second sequence of another size"),
    error=UnsupportedOperatorError,
)


test_data_of_integers_is_refused = refused(
    ("of int8 data", one("BIDIRECTIONAL_SEQUENCE_LSTM", x(1, 2, 3))), error=UnsupportedOperatorError
)
whole = partial(Lstm, "int8", cell_scale=-12)


def stream(model: Lstm, runs: int) -> list[list[np.ndarray]]:
    rng = np.random.default_rng(3)
    return [[full_range(rng, "int8", tuple(model.takes[0][0]))] for _ in range(runs)]


@pytest.mark.parametrize(
    "model",
    [
        whole(),
        whole(batch=3, coupled=True, cell_scale=-11),
        whole(batch=2, time_major=True, shift=2, cell_clip=1.5),
        whole(steps=1, time_major=True, cell_scale=-15),
        whole(peepholes=True, batch=2, time_major=True),
        whole(peepholes=True, coupled=True, outputs=4, proj_clip=0.4),
        whole(outputs=9, batch=2, time_major=True, cell_scale=-9, shift=3),
        whole(cell_scale=-13, time_major=True, size=2, units=3, shift=4),
        whole(norm=True, units=8),
        whole(norm=True, coupled=True, peepholes=True, outputs=5, shift=1),
        whole(batch=2, steps=None, peepholes=True),
        whole(steps=None, outputs=5, norm=True),
    ],
    ids=str,
)
def test_every_run_of_a_stream_equals_litert(model: Lstm) -> None:
    # The operator of one step runs without kernels, too.
    target = "llvm" if model.steps is None else "host"
    first, *then = stream(model, 4)
    comparison = compare(layer_model(model), first, target, then=then)
    assert comparison.differing == ()
    assert (comparison.runs, len(comparison.tensors)) == (4, 1)


def test_a_run_goes_on_where_the_one_before_ended() -> None:
    model = whole(steps=6)
    mod, params = from_tflite(layer_model(model))
    (x,) = stream(model, 1)[0]
    expected = tvm_qnn.build(mod, "llvm", params).run(x)
    parts = library_of(layer_model(whole(steps=2)))
    found = [parts.run(x[:, first : first + 2]) for first in (0, 2, 4)]
    np.testing.assert_array_equal(np.concatenate(found, axis=1), expected)
    parts.reset()
    np.testing.assert_array_equal(parts.run(x[:, :2]), found[0])


@pytest.mark.parametrize("place", [0, 2, 3, 4, 6, 7, 8, 13, 14, 15, 18, 19])
def test_what_is_missing_is_named(place: int) -> None:
    check_refused(layer_model(whole(), {place: None}), f"input {place} is missing")


test_what_does_not_fit_is_one_error = failing(
    lambda model, changes: from_tflite(layer_model(model, **changes)),
    (whole(), {"changes": {1: None}}, "input 5 is weights of the input gate"),
    (whole(), {"changes": {1: None, 5: None}}, "input 12 is a bias of the input gate"),
    (whole(), {"changes": {5: None}}, "input 5 is missing"),
    (whole(norm=True), {"changes": {20: None}}, "input 20 is missing"),
    (whole(peepholes=True), {"changes": {11: None}}, "input 11 is missing"),
    (whole(outputs=7), {"changes": {16: None}}, "input 16 is missing"),
    (whole(outputs=3), {"changes": {16: None, 17: None}}, "3 outputs, but no projection"),
    (whole(), {"inputs": 19}, "needs 20 or 24 inputs, got 19"),
    (whole(), {"intermediates": [0] * 4}, "needs 5 intermediates, got 4"),
    (whole(), {"changes": {3: 7}}, r"has shape \(7, 7\), needs \(7, 6\)"),
    (whole(), {"changes": {8: 13}}, "must have 2 dimensions, got"),
    (whole(), {"changes": {0: 1}}, "must have 3 dimensions, got"),
    (whole(), {"changes": {13: 19}}, r"has shape \(1, 7\), needs \(7,\)"),
    (whole(), {"changes": {18: 19}}, "is int16 of shape"),
    (whole(), {"changes": {19: 18}}, "is int8 of shape"),
    (whole(units=6), {"changes": {18: 12}}, "is no variable tensor"),
    (whole(norm=True), {"changes": {21: 14}}, "is int32, needs int16"),
    (whole(cell_scale=-16), {}, r"has the scale 2\^-16, not -15 to -9"),
    (whole(cell_clip=-1.0), {}, "clips at -1.0, which is below 0"),
    (whole(peepholes=True, outputs=8), {}, "peepholes of 7 cells with 8 outputs"),
    match="operator 0 UNIDIRECTIONAL_SEQUENCE_LSTM.*{}",
)
