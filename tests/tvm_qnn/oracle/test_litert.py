import sys
from typing import Any

import numpy as np
import pytest

from frontends.tflite.quantization import Quantization
from frontends.tflite.writer import ModelWriter
from qnn_ops.dialect.tensor_info import TensorInfo
from tests.support.errors import fails
from tvm_qnn.oracle import LiteRtSession, litert_tensors

DATA = np.array([-3, -1, 1, 3, 5], np.int8).reshape(1, 1, 5, 1)
HALVED, NEGATED = 4, 5  # tensor indices in the model below


@pytest.fixture(scope="module")
def model() -> bytes:
    """Two 1×1 convolutions: the first halves its input, the second negates the result."""
    one, two = Quantization.per_tensor(1.0, 0), Quantization.per_tensor(2.0, 0)
    writer = ModelWriter()
    data = writer.tensor("data", DATA.shape, "int8", one)
    shape = (1, 1, 1, 1)
    kernel = writer.tensor("one", shape, "int8", one, np.full(shape, 1, np.int8))
    minus = writer.tensor("minus_one", shape, "int8", one, np.full(shape, -1, np.int8))
    bias = writer.tensor("bias", (1,), "int32", one, np.zeros(1, np.int32))
    halved = writer.tensor("halved", DATA.shape, "int8", two)
    negated = writer.tensor("negated", DATA.shape, "int8", two)
    assert (halved, negated) == (HALVED, NEGATED)
    options: dict[str, Any] = {"padding": "VALID", "stride_h": 1, "stride_w": 1}
    writer.operator("CONV_2D", [data, kernel, bias], [halved], **options)
    writer.operator("CONV_2D", [halved, minus, bias], [negated], **options)
    return writer.finish([data], [negated])


def test_every_computed_tensor_comes_from_the_reference_kernels(model: bytes) -> None:
    tensors = litert_tensors(model, [DATA])

    # With a multiplier of one half, gemmlowp's arithmetic rounds ties upwards.
    assert list(tensors) == [HALVED, NEGATED]
    assert tensors[HALVED].dtype == np.int8
    assert tensors[HALVED].ravel().tolist() == [-1, 0, 1, 2, 3]
    assert tensors[NEGATED].ravel().tolist() == [1, 0, -1, -2, -3]


def test_a_session_runs_default_own_or_reference_kernels(model: bytes) -> None:
    session = LiteRtSession(model)

    # XNNPACK multiplies in float32 and rounds ties to even.
    for sign in (1, -1):
        (output,) = session.run([sign * DATA])
        assert output.shape == DATA.shape
        assert (sign * output).ravel().tolist() == [2, 0, 0, -2, -2]
    (output,) = LiteRtSession(model, xnnpack=False).run([DATA])
    assert output.ravel().tolist() == [1, 0, -1, -2, -3]
    session = LiteRtSession(model, reference=True)
    for sign in (1, -1):
        (output,) = session.run([sign * DATA])
        assert np.array_equal(output, litert_tensors(model, [sign * DATA])[NEGATED])


def test_a_session_knows_its_inputs_and_repeats_on_them(model: bytes) -> None:
    session = LiteRtSession(model)
    assert session.inputs == [TensorInfo("data", DATA.shape, "int8", 1.0, 0)]
    assert session.outputs == [TensorInfo("negated", DATA.shape, "int8", 2.0, 0)]
    session = LiteRtSession(model)
    prepared = session.prepare([DATA])
    prepared()
    prepared()
    fails("needs 1, got 2", session.prepare, [DATA, DATA])
    fails("number of inputs: needs 1, got 0", litert_tensors, model, [])


@pytest.mark.parametrize(
    ("wrong", "got"),
    [
        (np.zeros((1, 1, 5, 1), np.uint8), r"got uint8 of shape \(1, 1, 5, 1\)"),
        (np.zeros((1, 1, 4, 1), np.int8), r"got int8 of shape \(1, 1, 4, 1\)"),
    ],
)
def test_an_input_that_does_not_fit_is_an_error(model: bytes, wrong: np.ndarray, got: str) -> None:
    needs = r"input 0 \('data'\) needs int8 of shape \(1, 1, 5, 1\), "
    fails(needs + got, LiteRtSession(model).run, [wrong])


@pytest.mark.parametrize("contents", [b"", b"not a model", bytes(100)])
def test_what_is_not_a_model_is_an_error(contents: bytes) -> None:
    fails("LiteRT rejects the model", litert_tensors, contents, [])


def test_without_litert_the_error_names_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ai_edge_litert", None)
    fails(r"needs the package ai-edge-litert.*pip install", LiteRtSession, b"")
