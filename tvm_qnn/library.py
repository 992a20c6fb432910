"""A compiled model: run it, time it, write it to a file and load it again."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import tvm
from tvm import relax

from qnn_ops.errors import QnnError
from qnn_ops.signature import TensorInfo
from tvm_qnn.elf import check_complete
from tvm_qnn.linker import find_linker, shared_library_linker
from tvm_qnn.metadata import Metadata
from tvm_qnn.target import why_not_here
from tvm_qnn.threads import check_num_threads, use_threads
from tvm_qnn.timing import Timing

Array = np.ndarray[Any, Any]


class Library:
    """A model compiled for one target. Made by ``tvm_qnn.build`` or ``tvm_qnn.load``."""

    num_threads: int | None
    """How many threads a run uses; None: as many as TVM takes by itself. Can be changed."""

    def __init__(
        self,
        module: Any,
        about: Metadata,
        *,
        num_threads: int | None = None,
        is_loaded: bool = False,
    ) -> None:
        """Wrap what TVM compiled or loaded.

        Args:
            module: a VM executable.
            about: its signature and target.
            num_threads: how many threads a run uses.
            is_loaded: whether it comes from a file.
        """
        self.num_threads = check_num_threads(num_threads)
        self.signature = about.signature
        self.target = about.target
        self._module = module
        self._is_loaded = is_loaded

    @cached_property
    def _main(self) -> Callable[..., Any]:
        # Made when it is first needed: a library for another machine can be exported, not run.
        # (Besides, an executable that has run prints a line per constant when it is exported.)
        if reason := why_not_here(self.target):
            raise QnnError(f"this library cannot run here: {reason}")
        try:
            return relax.VirtualMachine(self._module, tvm.cpu())["main"]
        except RuntimeError as error:
            reason = str(error).strip().splitlines()[-1]
            raise QnnError(f"this library cannot run here: {reason}") from error

    @property
    def inputs(self) -> tuple[TensorInfo, ...]:
        """Name, shape, dtype and quantization of each input, in order."""
        return self.signature.inputs

    @property
    def outputs(self) -> tuple[TensorInfo, ...]:
        """Name, shape, dtype and quantization of each output, in order."""
        return self.signature.outputs

    def run(self, /, *arrays: Array, **named: Array) -> Any:
        """Run the model once.

        Args:
            *arrays: the inputs in order; each must have its input's exact shape and dtype.
            **named: or by name, for the inputs that are not given by position.

        Returns:
            The output as an array; a model of several outputs gives a dict by name, in order.

        Raises:
            QnnError: if an input is missing, unknown or given twice, or does not fit, or if the
                library is for another machine.
        """
        main, tensors = self._main, self._tensors(arrays, named)
        use_threads(check_num_threads(self.num_threads))
        result = main(*tensors)
        if len(self.outputs) == 1:
            return (result if isinstance(result, tvm.runtime.Tensor) else result[0]).numpy()
        names = [info.name for info in self.outputs]
        return {name: value.numpy() for name, value in zip(names, result, strict=True)}

    def prepare(self, /, *arrays: Array, **named: Array) -> Callable[[], None]:
        """A function that runs the model on these inputs each time it is called, for timing.

        The inputs, as ``run`` takes them, are copied once, here; outputs are dropped.
        """
        main, tensors = self._main, self._tensors(arrays, named)

        def run() -> None:
            use_threads(self.num_threads)
            main(*tensors)

        return run

    def benchmark(
        self, /, *arrays: Array, repeat: int = 20, warmup: int = 3, **named: Array
    ) -> Timing:
        """Time the model.

        Args:
            *arrays: inputs as ``run`` takes them; zeros if none are given at all.
            repeat: how many runs to time, at least one.
            warmup: how many runs to make before these.
            **named: inputs by name.

        Raises:
            QnnError: as ``run``, or if ``repeat`` is below 1.
        """
        if repeat < 1:
            raise QnnError(f"benchmark: repeat must be at least 1, got {repeat}")
        if not arrays and not named:
            arrays = tuple(np.zeros(info.shape, info.dtype) for info in self.inputs)
        run = self.prepare(*arrays, **named)
        for _ in range(warmup):
            run()
        return Timing.of(run, repeat)

    def export(self, path: str | os.PathLike[str], cc: str | None = None) -> None:
        """Write a shared library that ``tvm_qnn.load`` (or any TVM runtime) loads.

        Args:
            path: of the file; it must end in ``.so``, by which TVM knows what to load.
            cc: the linker to use; default: a C compiler on the path, or the ziglang package.

        Raises:
            QnnError: if there is no linker, linking fails, the path does not fit, or the library
                was itself loaded.
        """
        if self._is_loaded:
            raise QnnError("a loaded library cannot be exported again: copy its file")
        target = Path(path)
        if target.suffix != ".so":
            raise QnnError(f"the name of an exported library must end in .so, got {target}")
        if not target.parent.is_dir():
            raise QnnError(f"cannot write {target}: there is no folder {target.parent}")
        if target.is_dir():
            raise QnnError(f"cannot write {target}: it is a folder")
        linker = shared_library_linker(find_linker(cc))
        # Linked beside its place and moved there, so that a failure leaves no half a file.
        part = target.with_name(f".{target.name}.{os.getpid()}.so")
        try:
            self._module.export_library(str(part), fcompile=linker)
            os.replace(part, target)
        except OSError as error:
            raise QnnError(f"cannot write {target}: {error.strerror}") from error
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


def load(path: str | os.PathLike[str], *, num_threads: int | None = None) -> Library:
    """Load a library that ``Library.export`` wrote.

    Loading runs code of the file: load only what you trust.

    Args:
        path: of the file.
        num_threads: as for ``build``.

    Raises:
        QnnError: if the file is missing, damaged or not such a library.
    """
    check_num_threads(num_threads)
    file = Path(path)
    if not file.is_file():
        raise QnnError(f"no library at {file}")
    if file.suffix != ".so":
        raise QnnError(f"the name of a library must end in .so, got {file}")
    try:
        check_complete(file)
        module = tvm.runtime.load_module(str(file.resolve()))
        return Library(module, Metadata.of(module), num_threads=num_threads, is_loaded=True)
    except (RuntimeError, ValueError, OSError) as error:
        reason = str(error).strip().splitlines()[-1]
        raise QnnError(f"{file} is not a library that can be loaded here: {reason}") from error


def _tensor(info: TensorInfo, value: Array) -> Any:
    array = np.asarray(value)
    if array.shape != info.shape or str(array.dtype) != info.dtype:
        raise QnnError(
            f"input {info.name!r} takes {info.dtype} of shape {info.shape}, "
            f"got {array.dtype} of shape {array.shape}"
        )
    # Not ascontiguousarray: that makes a vector of a scalar.
    return tvm.runtime.tensor(np.asarray(array, order="C"))
