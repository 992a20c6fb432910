from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from qnn_ops.errors import QnnError
from tvm_qnn.oracle import LiteRtSession, litert_tensors


@pytest.fixture(scope="module")
def split_concat(shared: Path) -> bytes:
    """Concatenates three inputs (3 + 1 + 2 channels), splits the six, concatenates two of them.

    All its tensors have the same scale and zero point, so its arithmetic is copying.
    """
    return (shared / "models" / "tflite" / "split_concat_u8.tflite").read_bytes()


@pytest.fixture
def inputs() -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    return [rng.integers(0, 256, (1, 8, 8, c)).astype(np.uint8) for c in (3, 1, 2)]


def test_every_computed_tensor_is_returned(split_concat: bytes, inputs: list[np.ndarray]) -> None:
    tensors = litert_tensors(split_concat, inputs)

    channels = np.concatenate(inputs, axis=-1)
    expected = {3: channels, 10: channels[..., [3, 5]]}
    expected |= {4 + c: channels[..., c : c + 1] for c in range(6)}
    assert list(tensors) == sorted(expected)
    for index, array in expected.items():
        np.testing.assert_array_equal(tensors[index], array, err_msg=f"tensor {index}")
        assert tensors[index].dtype == np.uint8


def test_a_session_runs_again_and_again(split_concat: bytes, inputs: list[np.ndarray]) -> None:
    session = LiteRtSession(split_concat)

    for data in (inputs, [255 - array for array in inputs]):
        channels = np.concatenate(data, axis=-1)
        expected = [channels[..., c : c + 1] for c in (0, 2, 4, 1)] + [channels[..., [3, 5]]]
        outputs = session.run(data)
        assert len(outputs) == len(expected)
        for output, array in zip(outputs, expected, strict=True):
            np.testing.assert_array_equal(output, array)


def test_a_missing_input_is_an_error(split_concat: bytes, inputs: list[np.ndarray]) -> None:
    with pytest.raises(QnnError, match="needs 3 inputs, got 2"):
        litert_tensors(split_concat, inputs[:2])


@pytest.mark.parametrize(
    ("wrong", "got"),
    [
        (np.zeros((1, 8, 8, 1), np.int8), r"got int8 of shape \(1, 8, 8, 1\)"),
        (np.zeros((1, 8, 8, 2), np.uint8), r"got uint8 of shape \(1, 8, 8, 2\)"),
    ],
)
def test_an_input_that_does_not_fit_is_an_error(
    split_concat: bytes, inputs: list[np.ndarray], wrong: np.ndarray, got: str
) -> None:
    inputs[1] = wrong
    needs = r"input 1 \('inputs/rnn1'\) needs uint8 of shape \(1, 8, 8, 1\), "
    with pytest.raises(QnnError, match=needs + got):
        LiteRtSession(split_concat).run(inputs)


@pytest.mark.parametrize("model", [b"", b"not a model", bytes(100)])
def test_what_is_not_a_model_is_an_error(model: bytes) -> None:
    with pytest.raises(QnnError, match="LiteRT rejects the model"):
        litert_tensors(model, [])


def test_without_litert_the_error_names_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ai_edge_litert.interpreter", None)
    with pytest.raises(QnnError, match=r"needs the package ai-edge-litert.*pip install"):
        LiteRtSession(b"")
