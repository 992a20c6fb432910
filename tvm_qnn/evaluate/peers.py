"""Runs a model on its own framework."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from frontends.formats import format_of, read_model
from frontends.onnx.read.reader import read_proto
from frontends.summary import Description
from qnn_ops.dialect.signature import signature_of
from qnn_ops.dialect.tensor_info import TensorInfo
from qnn_ops.errors import QnnError
from qnn_ops.input_ranges import with_input_ranges
from tvm_qnn.oracle import LiteRtSession, OnnxRuntimeSession, XnnpackSession


class Session(Protocol):
    """A model that is ready to run."""

    inputs: Sequence[TensorInfo]
    outputs: Sequence[TensorInfo]

    def run(self, inputs: Sequence[np.ndarray]) -> Sequence[np.ndarray]:
        """Run the model once."""


class _OnnxRuntime:
    def __init__(self, content: bytes) -> None:
        self._session = OnnxRuntimeSession(read_proto(content), num_threads=1)
        self.inputs, self.outputs = self._session.inputs, self._session.outputs

    def run(self, inputs: Sequence[np.ndarray]) -> list[np.ndarray]:
        return list(self._session.run(inputs).values())


_SESSIONS: Mapping[str, tuple[str, Any]] = {
    "TFLite": ("LiteRT's reference kernels", partial(LiteRtSession, reference=True)),
    "ONNX": ("ONNX Runtime", _OnnxRuntime),
    "PyTorch": ("XNNPACK's delegate", XnnpackSession),
}


@dataclass(frozen=True)
class Peer:
    """A model that runs on its own framework, beside ours.

    Attributes:
        title: the framework's name, with the file's name if it is another model.
        format: the model's format.
        content: the bytes of the model's file.
    """

    title: str
    format: str
    content: bytes

    def start(self) -> Session:
        """Load the model for one thread.

        Raises:
            QnnError: if the framework is not installed, or rejects the model.
        """
        session: Session = _SESSIONS[self.format][1](self.content)
        return session


def peer_of(path: Path, *, is_other: bool) -> Peer | None:
    """Return a model on its framework; None for a format whose framework cannot be run.

    Args:
        path: of the model.
        is_other: whether it is a second model, and not the one that is evaluated.
    """
    kind = format_of(path).name
    if kind not in _SESSIONS:
        return None
    title = _SESSIONS[kind][0]
    return Peer(f"{path.name} on {title}" if is_other else title, kind, path.read_bytes())


def described(
    path: Path, session: Session
) -> tuple[tuple[TensorInfo, ...], tuple[TensorInfo, ...], Mapping[int, Description]]:
    """Return inputs, outputs and descriptions of a second model, which may be a float32 model."""
    source = read_model(path)
    descriptions = source.descriptions().inputs
    try:
        mod = source.convert().mod
    except QnnError:
        return tuple(session.inputs), tuple(session.outputs), descriptions
    signature = with_input_ranges(mod, signature_of(mod))
    return signature.inputs, signature.outputs, descriptions
