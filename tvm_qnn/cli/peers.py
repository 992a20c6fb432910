"""The frameworks that a model file is timed with."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from frontends.formats import format_of
from frontends.onnx.read.reader import read_proto
from qnn_ops.errors import QnnError
from tvm_qnn import oracle
from tvm_qnn.cli.model_files import LIBRARY
from tvm_qnn.io.progress import native_code_is_quiet
from tvm_qnn.timing import LITERT

_PEERS: dict[str, tuple[str, Callable[[Path, int, list[Any]], Any]]] = {
    "TFLite": (
        LITERT,
        lambda model, threads, shapes: oracle.LiteRtSession(
            model.read_bytes(), threads, shapes=shapes
        ),
    ),
    "ONNX": (
        "ONNX Runtime",
        lambda model, threads, _: oracle.OnnxRuntimeSession(
            read_proto(model), threads, by_default=True
        ),
    ),
    "PyTorch": (
        "ExecuTorch (XNNPACK)",
        lambda model, threads, _: oracle.XnnpackSession(model, threads),
    ),
}
"""The name of each format's framework, and what makes a session of a file, threads and shapes."""


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
    if model.suffix == LIBRARY or (form := format_of(model).name) not in _PEERS:
        return {}, {}
    name, load = _PEERS[form]
    try:
        with native_code_is_quiet():
            session = load(model, threads, [each.shape for each in inputs])
            return {name: session.prepare(inputs)}, {}
    except QnnError as error:
        return {}, {name: str(error)}
