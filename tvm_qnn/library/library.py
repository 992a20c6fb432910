"""A compiled model: runs, times, writes and loads it."""

from __future__ import annotations

import os
import re
import threading
import weakref
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from qnn_ops.dialect.tensor_info import Signature, TensorInfo
from qnn_ops.errors import QnnError
from tvm_qnn.io.closing import Closing
from tvm_qnn.io.outputs import scratch
from tvm_qnn.io.text import table
from tvm_qnn.library import formats, runtime
from tvm_qnn.library.arrays import (
    Given,
    benchmark_arrays,
    checked,
    given_outputs,
    input_arrays,
    reals,
    written,
)
from tvm_qnn.library.files import FileOrigin, named_in_errors
from tvm_qnn.library.metadata import Metadata
from tvm_qnn.library.origin import Origin
from tvm_qnn.library.session import Session
from tvm_qnn.library.threads import call_in_threads, check_num_threads
from tvm_qnn.timing import Timing

if TYPE_CHECKING:
    import tvm

_PICKLED = "pickled.so"


class Library(Closing):
    """A model compiled for one target; ``tvm_qnn.build`` and ``tvm_qnn.load`` make it.

    Threads may run one library at the same time. If a model has a state, such as a streaming one,
    the library keeps it from one run to the next, and the runs of threads come one after another.
    A ``session`` for each stream has a state of its own. A process may be forked after it ran
    libraries, and the new process runs them, too; but no other thread may run one during the fork.
    A pickled library is its file's bytes, and the state: other processes load it from them.

    The context ``with tvm_qnn.load(path) as library`` closes it at the end.
    """

    num_threads: int | None
    """How many threads a run uses; None: TVM decides. It can be changed."""

    metadata: Metadata
    """The library's description of itself. For a library for several targets: that of the variant
    that runs best on this machine; ``metadata.others`` has the rest."""

    def __init__(
        self, metadata: Metadata, origin: Origin, *, num_threads: int | None = None
    ) -> None:
        """Wrap code that was compiled or loaded.

        Args:
            metadata: the library's description.
            origin: the library's code.
            num_threads: how many threads a run uses.
        """
        self.num_threads = check_num_threads(num_threads)
        self.metadata = metadata
        self._origin: Origin | None = origin
        self._program: runtime.Program | None = None
        self._lock = threading.Lock()
        # A proxy: a circle of references would keep the file mapped after the last use.
        library = weakref.proxy(self)
        self._own = Session(
            self.signature.states, lambda *run, **named: library._step(*run, **named)
        )

    @property
    def signature(self) -> Signature:
        """The inputs and outputs."""
        return self.metadata.signature

    @property
    def inputs(self) -> tuple[TensorInfo, ...]:
        """Name, shape, dtype and quantization of each input, in order."""
        return self.signature.inputs

    @property
    def outputs(self) -> tuple[TensorInfo, ...]:
        """Name, shape, dtype and quantization of each output, in order."""
        return self.signature.outputs

    @property
    def digest(self) -> str:
        """SHA-256 of the library's file, in hexadecimal, as ``sha256sum`` prints it.

        ``load`` takes it. A library that was compiled here does not know its digest until it is
        exported: load the file.
        """
        digest = self._open().digest
        if digest is None:
            raise QnnError("a library has a digest once it is a file: export it, and load that")
        return digest

    @property
    def target(self) -> tvm.target.Target:
        """The target that the library was compiled for. Reading it imports TVM."""
        return self.metadata.target

    def run(
        self,
        /,
        *arrays: Given,
        quantize_inputs: bool = False,
        dequantize_outputs: bool = False,
        out: Any = None,
        **named: np.ndarray,
    ) -> Any:
        """Run the model once. If it has a state, the run begins with the last run's state.

        Args:
            *arrays: the inputs in order; each must have its input's exact shape and dtype. Or one
                mapping of all inputs by name, as ONNX Runtime takes them.
            quantize_inputs: also take float arrays for quantized inputs: they are divided by the
                input's scale, rounded half away from zero and saturated, as TFLite does.
            dequantize_outputs: return the real values of quantized outputs, as float32.
            out: arrays by the names of outputs; these outputs are written to them. Each has its
                output's exact shape and dtype.
            **named: inputs by name, if they are not given by position.

        Returns:
            The output as an array; a model of several outputs returns a dict by name, in order. An
            output in ``out`` is the array given there.

        Raises:
            QnnError: if an input is missing, unknown or given twice, or does not fit, if an array
                of ``out`` does not fit, if the library is for another machine, or if it was closed.
        """
        options: dict[str, Any] = {
            "out": out,
            "quantize_inputs": quantize_inputs,
            "dequantize_outputs": dequantize_outputs,
            **named,
        }
        if self.signature.states:
            return self._own.run(*arrays, **options)
        return self._step((), *arrays, **options)[0]

    def __call__(self, /, *arrays: Given, **named: Any) -> Any:
        """Run the model once, as ``run`` does."""
        return self.run(*arrays, **named)

    def __repr__(self) -> str:
        tensors = (f"{role} {each.describe()}" for role, each in self.signature.by_role())
        lines = [f"tvm_qnn.Library for {self.metadata.processor}", *tensors]
        return "\n  ".join(lines)

    def _repr_html_(self) -> str:
        return table(
            f"tvm_qnn.Library for {self.metadata.processor}",
            ("", "name", "dtype", "shape", "scale", "zero point"),
            [
                (role, each.name, each.dtype, each.shape)
                + (("", "") if each.scale is None else (f"{each.scale:g}", each.zero_point))
                for role, each in self.signature.by_role()
            ],
        )

    def session(self) -> Session:
        """Return a session: a stream of runs with its own state, which begins as before any run."""
        return Session(self.signature.states, self._step)

    def reset(self) -> None:
        """Go back to the state before the first run."""
        self._own.reset()

    @property
    def state(self) -> dict[str, np.ndarray]:
        """Copies of the values that the model keeps from one run to the next, by name."""
        return self._own.state

    def _step(
        self,
        states: Sequence[np.ndarray],
        /,
        *arrays: Given,
        quantize_inputs: bool = False,
        dequantize_outputs: bool = False,
        out: Any = None,
        **named: np.ndarray,
    ) -> tuple[Any, list[np.ndarray]]:
        """Run once on a state; return the result of ``run``, and the new state."""
        program, infos = self._ready(), self.outputs
        if out is not None and not isinstance(out, Mapping):  # an input may be called "out"
            named, out = {**named, "out": out}, None
        given = given_outputs(infos, out or {}, dequantize=dequantize_outputs)
        values = input_arrays(self.inputs, arrays, named, quantize=quantize_inputs)
        tensors = [runtime.tensor(value, copy=False) for value in values]
        tensors += [runtime.tensor(state) for state in states]
        # A run may not write over arrays that it still reads.
        free = {
            place: given[info.name]
            for place, info in enumerate(infos)
            if info.name in given
            and given[info.name].dtype == info.dtype
            and not any(np.may_share_memory(given[info.name], value) for value in values)
        }
        call = partial(program, out=free) if free else program
        result = call_in_threads(check_num_threads(self.num_threads), call, *tensors)
        both = checked((*infos, *self.signature.states), result)
        found, kept = both[: len(infos)], both[len(infos) :]
        if dequantize_outputs:
            found = [reals(info, array) for info, array in zip(infos, found, strict=True)]
        found = [written(one, given.get(info.name)) for info, one in zip(infos, found, strict=True)]
        if len(infos) == 1:
            return found[0], kept
        return {info.name: array for info, array in zip(infos, found, strict=True)}, kept

    def prepare(self, /, *arrays: Given, **named: np.ndarray) -> Callable[[], None]:
        """Return a function that runs the model on these inputs at each call, for timing.

        The inputs, as ``run`` takes them, are copied once, here; outputs are dropped. Only one
        thread at a time may call it. Every run begins with the state before the first one.
        """
        states = [info.array() for info in self.signature.states]
        values = input_arrays(self.inputs, arrays, named)
        run_once = self._ready().prepare(*map(runtime.tensor, (*values, *states)))

        def run() -> None:
            call_in_threads(self.num_threads, run_once)

        return run

    def bind(
        self, inputs: Mapping[str, np.ndarray], out: Mapping[str, np.ndarray]
    ) -> Callable[[], None]:
        """Return a function that runs the model on these very arrays at each call.

        Each run reads the inputs' present elements, and writes the outputs. It copies and checks
        nothing. Only one thread at a time may call it. An output must not share memory with an
        input or another output.

        Args:
            inputs: all inputs by name, in memory as ``tvm_qnn.library.runtime.aligned_zeros``
                returns it.
            out: all outputs by name, in such memory.

        Raises:
            QnnError: if an array is missing, unknown or does not fit, or the model has a state.
        """
        if self.signature.states:
            raise QnnError("bind: the model keeps a state from run to run, which run does")
        values = input_arrays(self.inputs, (), inputs)
        given = given_outputs(self.outputs, out)
        if missing := [info.name for info in self.outputs if info.name not in given]:
            raise QnnError(f"bind: missing output {', '.join(map(repr, missing))}")
        results = [given[info.name] for info in self.outputs]
        memory = [runtime.direct(array) for array in (*values, *results)]
        if any(tensor is None for tensor in memory):
            raise QnnError("bind: an array is not contiguous, or not aligned to 64 bytes")
        run_once = self._ready().prepare(*memory[: len(values)], out=memory[len(values) :])
        return partial(call_in_threads, check_num_threads(self.num_threads), run_once)

    def benchmark(
        self, /, *arrays: Given, repeat: int = 20, warmup: int = 3, **named: np.ndarray
    ) -> Timing:
        """Time the model.

        Args:
            *arrays: inputs as ``run`` takes them; zeros if none are given at all.
            repeat: how many runs to time, at least one.
            warmup: how many runs come before these.
            **named: inputs by name.

        Raises:
            QnnError: as ``run``, or if ``repeat`` is below 1.
        """
        run = self.prepare(*benchmark_arrays(self.inputs, arrays, named, repeat))
        for _ in range(warmup):
            run()
        return Timing.of(run, repeat)

    def export(
        self, path: str | os.PathLike[str], cc: str | None = None, *, format: str = "so"
    ) -> None:
        """Write the model for other programs.

        A library that was loaded from a file can only be written in the format "so": this copies
        the file. The formats "tvm" and "c" lower the model again.

        Args:
            path: the file to write. For "so" and "tvm" it must end in ``.so``. For "c" its last
                part is a name in C such as ``m``: the files and their functions begin with it.
            cc: the linker to use; default: one for the target on the path, or the ziglang
                package. Only for "so" and "tvm".
            format: "so": a shared library that ``tvm_qnn.load`` loads, written in one step.
                "tvm": a shared library as TVM itself writes it, for its own runtime, RPC server
                and tools; ``tvm_qnn.load`` does not take it, because it cannot be checked.
                "c": ``m.o``, ``m.h``, ``m.hpp``, ``m.c`` and an example ``m_main.c`` for a
                C compiler; they need no TVM, no heap and no threads.

        Raises:
            QnnError: if there is no linker, linking fails, the path does not fit, the library
                was loaded and the format is not "so", there is no such format, the library was
                closed, or for "c" the model has something that only TVM's runtime can run.
        """
        if format not in formats.FORMATS:
            known = ", ".join(map(repr, formats.FORMATS))
            raise QnnError(f"a library is exported in format {known}, got {format!r}")
        formats.FORMATS[format](self._open(), self.metadata, Path(path), cc)

    def close(self) -> None:
        """Free the library's memory and file. Later runs are an error.

        Runs that other threads have begun end as usual.
        """
        with self._lock:
            self._origin = self._program = None

    def __reduce__(self) -> tuple[Any, ...]:
        with scratch() as folder:
            path = folder / _PICKLED
            self._open().write(path, self.metadata, None)
            return _unpickled, (path.read_bytes(), self.num_threads, self._own.kept())

    def _open(self) -> Origin:
        if self._origin is None:
            raise QnnError("this library was closed")
        return self._origin

    def _ready(self) -> runtime.Program:
        """Return the program, made at first use: code for another machine can still be exported."""
        if (program := self._program) is not None:
            return program
        with self._lock:
            if self._program is None:
                origin = self._open()
                if reason := self.metadata.why_not_here():
                    raise QnnError(f"this library cannot run here: {reason}")
                self._program = origin.program()
            return self._program


def load(
    path: str | os.PathLike[str], *, num_threads: int | None = None, digest: str | None = None
) -> Library:
    """Load a library that ``Library.export`` wrote.

    The file is checked before any of its code is loaded: every byte must be as it was written,
    and this machine and the installed TVM must be able to run it. This protects from damage and
    mistakes, not from malice: a library is code, so load only files that you would execute. For a
    file from a network, give a digest from a source that you trust. While it is loaded, the
    file may be replaced or removed, but not be written to.

    A library for several targets has a variant for each; the variant that uses most of this
    processor's extensions is loaded.

    Args:
        path: the file.
        num_threads: as for ``build``.
        digest: SHA-256 of the expected file, as ``sha256sum`` and ``Library.digest`` have it;
            any other file is refused.

    Raises:
        QnnError: if the file is missing, is not the expected one, is damaged or not such a
            library, or cannot run here.
    """
    check_num_threads(num_threads)
    if digest is not None and not re.fullmatch(r"[0-9a-fA-F]{64}", digest):
        raise QnnError(f"a digest is 64 hexadecimal digits (SHA-256), got {digest!r}")
    with named_in_errors(file := Path(path)):
        origin = FileOrigin(file, digest and digest.lower())
        if reason := origin.metadata.why_not_here():
            raise QnnError(reason)
        library = Library(origin.metadata, origin, num_threads=num_threads)
        library._ready()
        return library


def _unpickled(contents: bytes, num_threads: int | None, state: Sequence[np.ndarray]) -> Library:
    """Return the library of a file's contents; if it is for another machine, it can be sent on."""
    with scratch() as folder:
        path = folder / _PICKLED
        path.write_bytes(contents)
        origin = FileOrigin(path)
        library = Library(origin.metadata, origin, num_threads=num_threads)
        if library.metadata.why_not_here() is None:
            library._ready()  # load the code while its file exists
    library._own.restore(state)
    return library
