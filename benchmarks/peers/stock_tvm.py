"""TVM without tvm-qnn, with its own importer and its own pipeline."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from benchmarks.peers.base import Array, Peer, Session


class StockTvm(Peer):
    """TVM as its users know it: each quantized operator becomes float32 arithmetic."""

    name = "TVM, as it comes"
    distribution = "apache-tvm"
    modules = ("tvm.relax",)
    compiler_modules = ("tvm.relax.frontend.tflite", "tflite", "tvm.relax.frontend.onnx", "onnx")
    formats = (".tflite", ".onnx")

    def compile(self, model: Path, folder: Path) -> Path:
        """Import, compile and export."""
        import tvm
        from tvm.target import codegen

        mod = _READERS[model.suffix](model)
        target = tvm.target.Target({"kind": "llvm", "mcpu": codegen.llvm_get_system_cpu()})
        file = folder / "stock_tvm.so"
        with target:
            tvm.compile(mod, target=target).export_library(str(file))
        return file

    def load(self, file: Path, threads: int) -> Session:
        """Load the exported library; its threads are those of TVM's pool."""
        import tvm

        del threads  # an environment variable of the process sets it
        return _Session(
            tvm, tvm.relax.VirtualMachine(tvm.runtime.load_module(str(file)), tvm.cpu())
        )


def _tflite(model: Path) -> Any:
    import tflite
    from tvm.relax.frontend.tflite import from_tflite

    return from_tflite(tflite.Model.GetRootAs(model.read_bytes()))


def _onnx(model: Path) -> Any:
    import onnx
    from tvm.relax.frontend.onnx import from_onnx

    return from_onnx(onnx.load(model))


_READERS: dict[str, Callable[[Path], Any]] = {".tflite": _tflite, ".onnx": _onnx}
"""TVM's importers, by the suffix of the files that they read."""


class _Session:
    def __init__(self, tvm: Any, machine: Any) -> None:
        self._tvm = tvm
        self._main = machine["main"]
        self._result: Any = None

    def prepare(self, inputs: Sequence[Array]) -> Callable[[], object]:
        tensors = [self._tvm.runtime.tensor(array) for array in inputs]

        def run() -> None:
            self._result = self._main(*tensors)

        return run

    def outputs(self) -> list[Array]:
        if isinstance(self._result, self._tvm.runtime.Tensor):
            return [self._result.numpy()]
        return [value.numpy() for value in self._result]
