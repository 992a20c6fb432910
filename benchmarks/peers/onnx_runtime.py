"""ONNX Runtime, on an .onnx file or on tf2onnx's conversion of a .tflite file."""

import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from benchmarks.peers.base import Array, Peer, Session

OPSET = 17  # scales per channel need version 13 or newer


class OnnxRuntime(Peer):
    """ONNX Runtime with its CPU kernels.

    Args:
        in_integers: whether it computes int8 activations in integers; otherwise it leaves them in
            float on x86. Its answers in integers equal tvm-qnn's.
    """

    distribution = "onnxruntime"
    modules = ("onnxruntime",)
    formats = (".tflite", ".onnx")

    def __init__(self, *, in_integers: bool = False) -> None:
        self.name = "ONNX Runtime, integers" if in_integers else "ONNX Runtime"
        self._in_integers = in_integers

    def compile(self, model: Path, folder: Path) -> Path:
        """Convert the model unless it is an .onnx file; tf2onnx needs TensorFlow."""
        if model.suffix == ".onnx":
            return model
        file = folder / "model.onnx"
        command = [sys.executable, "-m", "tf2onnx.convert", "--opset", str(OPSET)]
        files = ["--tflite", str(model), "--output", str(file)]
        subprocess.run([*command, *files], check=True, stdout=sys.stderr)
        return file

    def load(self, file: Path, threads: int) -> Session:
        """Load the .onnx file."""
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        options.log_severity_level = 3
        if self._in_integers:
            options.add_session_config_entry("session.qdqisint8allowed", "1")
        providers = ["CPUExecutionProvider"]
        return _Session(onnxruntime.InferenceSession(str(file), options, providers=providers))


class _Session:
    def __init__(self, session: Any) -> None:
        self._session = session
        self._binding = session.io_binding()

    def prepare(self, inputs: Sequence[Array]) -> Callable[[], object]:
        for info, array in zip(self._session.get_inputs(), inputs, strict=True):
            self._binding.bind_cpu_input(info.name, array)
        for info in self._session.get_outputs():
            self._binding.bind_output(info.name)
        return lambda: self._session.run_with_iobinding(self._binding)

    def outputs(self) -> list[Array]:
        results: list[Array] = self._binding.copy_outputs_to_cpu()
        return results
