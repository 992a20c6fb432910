"""The frameworks that a model file is timed with."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from frontends.formats import format_of
from qnn_ops.errors import QnnError
from tvm_qnn.cli.model_files import LIBRARY

Session = Any
"""An object with ``prepare(inputs)``, which returns a function that runs the model."""


def _litert(model: Path, threads: int, inputs: Sequence[Any]) -> Session:
    from tvm_qnn.oracle import LiteRtSession

    shapes = [each.shape for each in inputs]
    return LiteRtSession(model.read_bytes(), threads, shapes=shapes)


def _onnx_runtime(model: Path, threads: int, _inputs: Sequence[Any]) -> Session:
    from frontends.onnx.read.reader import read_proto
    from tvm_qnn.oracle import OnnxRuntimeSession

    return OnnxRuntimeSession(read_proto(model), threads, by_default=True)


def _xnnpack(model: Path, threads: int, _inputs: Sequence[Any]) -> Session:
    from tvm_qnn.oracle import XnnpackSession

    return XnnpackSession(model, threads)


LITERT = "LiteRT (XNNPACK)"

_PEERS: dict[str, tuple[str, Callable[[Path, int, Sequence[Any]], Session]]] = {
    "TFLite": (LITERT, _litert),
    "ONNX": ("ONNX Runtime", _onnx_runtime),
    "PyTorch": ("ExecuTorch (XNNPACK)", _xnnpack),
}


def peers(
    model: Path, inputs: Sequence[Any], threads: int
) -> tuple[dict[str, Callable[[], object]], dict[str, str]]:
    """Load a model file into its own framework.

    Args:
        model: the file; a library has no framework.
        inputs: the inputs of each run, in the model's order.
        threads: the threads of each run.

    Returns:
        Functions that run the model, and reasons for missing frameworks, by the framework's name.
    """
    from tvm_qnn.io.progress import native_code_is_quiet

    if model.suffix == LIBRARY or (form := format_of(model).name) not in _PEERS:
        return {}, {}
    name, load = _PEERS[form]
    try:
        with native_code_is_quiet():
            return {name: load(model, threads, inputs).prepare(inputs)}, {}
    except QnnError as error:
        return {}, {name: str(error)}
