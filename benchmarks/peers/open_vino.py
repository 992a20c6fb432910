"""OpenVINO, which reads .tflite and .onnx files itself."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from benchmarks.peers.base import Array, Peer, Session


class OpenVino(Peer):
    """OpenVINO on the CPU, configured for the shortest time of a single picture."""

    name = "OpenVINO"
    distribution = "openvino"
    modules = ("openvino",)
    formats = (".tflite", ".onnx")

    def load(self, file: Path, threads: int) -> Session:
        """Read and compile the file; OpenVINO does both in the running process."""
        import openvino

        settings = {
            "PERFORMANCE_HINT": "LATENCY",
            "NUM_STREAMS": 1,
            "INFERENCE_NUM_THREADS": threads,
        }
        compiled = openvino.Core().compile_model(str(file), "CPU", settings)
        return _Session(openvino, compiled)


class _Session:
    def __init__(self, openvino: Any, compiled: Any) -> None:
        self._openvino = openvino
        self._compiled = compiled
        self._request = compiled.create_infer_request()

    def prepare(self, inputs: Sequence[Array]) -> Callable[[], object]:
        for port, array in zip(self._compiled.inputs, inputs, strict=True):
            self._request.set_tensor(port, self._openvino.Tensor(array.copy()))

        def run() -> None:
            self._request.start_async()
            self._request.wait()

        return run

    def outputs(self) -> list[Array]:
        return [self._request.get_tensor(port).data.copy() for port in self._compiled.outputs]
