"""tvm-qnn itself."""

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from benchmarks.peers.base import Array, Peer, Session
from tvm_qnn.io.images import noise
from tvm_qnn.library.arrays import results_of


class Ours(Peer):
    """tvm-qnn as its users deploy it: compiled for this machine, exported and loaded again."""

    name = "tvm-qnn"
    distribution = "tvm-qnn"
    modules = ("tvm_qnn.library.library", "tvm_qnn.library.files")
    compiler_modules = ("tvm_qnn.build", "frontends.tflite")
    formats = (".tflite", ".onnx")
    keeps_builds = True

    def compile(self, model: Path, folder: Path) -> Path:
        """Build and export a shared library; the folder also gets the cache of builds."""
        import tvm_qnn

        os.environ["TVM_QNN_CACHE"] = str(folder / "tvm_qnn_cache")
        file = folder / "tvm_qnn.so"
        tvm_qnn.build(*_build_arguments(model), cache=True).export(file)
        return file

    def convert(self, model: Path, folder: Path) -> Path:
        """Return the model's file itself."""
        del folder
        return model

    def build(self, file: Path, threads: int) -> object:
        """Build a library in memory, ready to run."""
        import tvm_qnn

        library = tvm_qnn.build(*_build_arguments(file), num_threads=threads)
        library.prepare(*map(noise, library.inputs))
        return library

    def load(self, file: Path, threads: int) -> Session:
        """Load the library."""
        import tvm_qnn

        return _Session(tvm_qnn.load(file, num_threads=threads))


def _build_arguments(model: Path) -> tuple[Any, str, Any]:
    import tvm_qnn

    read = tvm_qnn.from_onnx if model.suffix == ".onnx" else tvm_qnn.from_tflite
    mod, params = read(model.read_bytes())
    return mod, "host", params


class _Session:
    def __init__(self, library: Any) -> None:
        self._library = library
        self._inputs: Sequence[Array] = ()

    def prepare(self, inputs: Sequence[Array]) -> Callable[[], object]:
        self._inputs = inputs
        run: Callable[[], object] = self._library.prepare(*inputs)
        return run

    def outputs(self) -> list[Array]:
        return results_of(self._library.run(*self._inputs))
