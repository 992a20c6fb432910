"""A compiled model: run it, time it, write it to a file and load it again."""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import tvm
from tvm import relax

from qnn_ops.errors import QnnError
from qnn_ops.signature import Signature, TensorInfo
from tvm_qnn.linker import find_linker, shared_library_linker

Array = np.ndarray[Any, Any]

METADATA = "qnn_metadata"
"""The library's function that returns its signature, as JSON in a uint8 tensor."""


@dataclass(frozen=True)
class Timing:
    """Wall-clock seconds of repeated runs, without the copies from and to numpy."""

    seconds: tuple[float, ...]

    @property
    def median(self) -> float:
        """The middle run, in seconds: the figure to quote."""
        return statistics.median(self.seconds)

    @property
    def minimum(self) -> float:
        """The fastest run, in seconds."""
        return min(self.seconds)

    @property
    def maximum(self) -> float:
        """The slowest run, in seconds."""
        return max(self.seconds)


class Library:
    """A model compiled for one target. Made by ``tvm_qnn.build`` or ``tvm_qnn.load``."""

    def __init__(self, module: Any, *, is_loaded: bool = False) -> None:
        """Wrap what TVM compiled, or loaded: a VM executable with our metadata in it."""
        self._module = module
        self._is_loaded = is_loaded
        try:
            self._machine = relax.VirtualMachine(module, tvm.cpu())
            text = bytes(self._machine[METADATA]().numpy()).decode()
        except (AttributeError, ValueError, RuntimeError) as error:
            raise QnnError("this is not a library that tvm-qnn built") from error
        self.signature = Signature.from_json(text)

    @property
    def inputs(self) -> tuple[TensorInfo, ...]:
        """Name, shape, dtype and quantization of each input, in order."""
        return self.signature.inputs

    @property
    def outputs(self) -> tuple[TensorInfo, ...]:
        """Name, shape, dtype and quantization of each output, in order."""
        return self.signature.outputs

    def run(self, *arrays: Array, **named: Array) -> Any:
        """Run the model once.

        Args:
            *arrays: the inputs in order; each must have its input's exact shape and dtype.
            **named: or by name, for the inputs that are not given by position.

        Returns:
            The output as an array; a model of several outputs gives a dict by name, in order.

        Raises:
            QnnError: if an input is missing, unknown or given twice, or does not fit.
        """
        result = self._machine["main"](*self._tensors(arrays, named))
        if len(self.outputs) == 1:
            return (result if isinstance(result, tvm.runtime.Tensor) else result[0]).numpy()
        names = [info.name for info in self.outputs]
        return {name: value.numpy() for name, value in zip(names, result, strict=True)}

    def benchmark(
        self, *arrays: Array, repeat: int = 20, warmup: int = 3, **named: Array
    ) -> Timing:
        """Time ``repeat`` runs after ``warmup`` ones; zeros stand for inputs if none are given."""
        if not arrays and not named:
            arrays = tuple(np.zeros(info.shape, info.dtype) for info in self.inputs)
        tensors = self._tensors(arrays, named)
        main = self._machine["main"]
        seconds = []
        for index in range(warmup + repeat):
            start = time.perf_counter()
            main(*tensors)
            if index >= warmup:
                seconds.append(time.perf_counter() - start)
        return Timing(tuple(seconds))

    def export(self, path: str | os.PathLike[str], cc: str | None = None) -> None:
        """Write a shared library that ``tvm_qnn.load`` (or any TVM runtime) loads.

        Args:
            path: of the file; by convention it ends in ``.so``.
            cc: the linker to use; default: a C compiler on the path, or the ziglang package.

        Raises:
            QnnError: if there is no linker, linking fails, or the library was itself loaded.
        """
        if self._is_loaded:
            raise QnnError("a loaded library cannot be exported again: copy its file")
        target = Path(path)
        if not target.parent.is_dir():
            raise QnnError(f"cannot write {target}: there is no folder {target.parent}")
        linker = shared_library_linker(find_linker(cc))
        # Linked beside its place and moved there, so that a failure leaves no half a file.
        part = target.with_name(f".{target.name}.{os.getpid()}.so")
        try:
            self._module.export_library(str(part), fcompile=linker)
            os.replace(part, target)
        finally:
            part.unlink(missing_ok=True)

    def _tensors(self, arrays: Sequence[Array], named: dict[str, Array]) -> list[Any]:
        names = [info.name for info in self.inputs]
        if len(arrays) > len(names):
            raise QnnError(f"the model has {len(names)} inputs, got {len(arrays)} arrays")
        given = dict(zip(names, arrays, strict=False))
        for name, array in named.items():
            if name not in names:
                raise QnnError(f"no input is named {name!r}; there are {', '.join(names)}")
            if name in given:
                raise QnnError(f"input {name!r} is given twice, by position and by name")
            given[name] = array
        missing = [name for name in names if name not in given]
        if missing:
            raise QnnError(f"missing input {', '.join(map(repr, missing))}")
        return [_tensor(info, given[info.name]) for info in self.inputs]


def load(path: str | os.PathLike[str]) -> Library:
    """Load a library that ``Library.export`` wrote.

    Raises:
        QnnError: if the file is missing or is not such a library.
    """
    file = Path(path)
    if not file.is_file():
        raise QnnError(f"no library at {file}")
    try:
        module = tvm.runtime.load_module(str(file.resolve()))
    except (RuntimeError, ValueError, OSError) as error:
        raise QnnError(f"{file} is not a library that can be loaded here: {error}") from None
    return Library(module, is_loaded=True)


def _tensor(info: TensorInfo, value: Array) -> Any:
    array = np.asarray(value)
    if array.shape != info.shape or str(array.dtype) != info.dtype:
        raise QnnError(
            f"input {info.name!r} takes {info.dtype} of shape {info.shape}, "
            f"got {array.dtype} of shape {array.shape}"
        )
    return tvm.runtime.tensor(np.ascontiguousarray(array))
