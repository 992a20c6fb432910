"""TVM's runtime without its compiler: everything that a compiled library needs.

``import tvm`` loads the compiler's 260 MB and takes most of a second. This file reaches the
runtime's functions through ``tvm_ffi``, in the one runtime library that the compiler uses, too. If
``tvm`` is imported earlier or later, both share the same runtime.
"""

import ctypes
import functools
import importlib
import importlib.util
import math
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import tvm_ffi

import qnn_ops.errors  # noqa: F401 (code of libraries calls its function)
from qnn_ops.errors import QnnError
from tvm_qnn.library.runner import Runner

ALIGNMENT = 64
"""The alignment in bytes that TVM's code expects of tensors."""

_CPU, _NAIVE, _POOLED = 1, 1, 2  # TVM's numbers for the device and its allocators
_OPEN = b"vm.builtin.make_shape"  # bytecode calls it only if sizes are open
# How often an idle worker of TVM looks for work before it sleeps: a millisecond. TVM's own 300,000
# looks take minutes if other programs use the processor, since each look yields to them. A worker
# that is told to end finishes its looks first.
_LOOKS = ("TVM_THREAD_POOL_SPIN_COUNT", "2000")
# By default TVM binds the thread that asks for the pool, or for its size, to one processor.
_BINDS = ("TVM_BIND_THREADS", "0")
BUNDLED = Path(__file__).parents[1] / "lib"
"""The runtime's folder in the distribution for devices, which has no compiler; else missing."""

_FILES = {
    "linux": "libtvm_runtime.so",
    "darwin": "libtvm_runtime.dylib",
    "win32": "tvm_runtime.dll",
}


@functools.cache
def load_runtime() -> None:
    """Load TVM's runtime library, unless this was done before.

    Idle threads leave the processor to other programs, and no thread is bound to a processor. If
    the environment sets TVM_THREAD_POOL_SPIN_COUNT or TVM_BIND_THREADS, they stay as they are.

    Raises:
        QnnError: if TVM is not installed.
    """
    os.environ.setdefault(*_LOOKS)
    os.environ.setdefault(*_BINDS)
    spec = importlib.util.find_spec("tvm")
    folders = (
        [Path(folder) / "lib" for folder in spec.submodule_search_locations or ()] if spec else []
    )
    folders.append(BUNDLED)
    if chosen := os.environ.get("TVM_LIBRARY_PATH"):  # TVM itself searches there
        folders.insert(0, Path(chosen))
    name = _FILES.get(sys.platform)
    for file in (folder / name for folder in folders if name):
        if file.is_file():
            # Global, as TVM loads it: the kernels of libraries need its functions.
            ctypes.CDLL(str(file), ctypes.RTLD_GLOBAL)
            return
    if spec is None or not spec.submodule_search_locations:
        raise QnnError("running a library needs TVM: pip install apache-tvm")
    importlib.import_module("tvm")  # TVM is installed in another way, and finds its runtime itself


def function(name: str) -> Callable[..., Any]:
    """Return a global function of TVM's runtime, by its name.

    Raises:
        QnnError: if TVM is not installed.
    """
    load_runtime()
    found: Callable[..., Any] = tvm_ffi.get_global_func(name)
    return found


def tensor(array: np.ndarray, *, copy: bool = True) -> Any:
    """Return an array as one of TVM's tensors, on the processor.

    Args:
        array: an array of any shape, with a dtype that TVM knows.
        copy: False: the tensor may share the array's memory for all of its life. The array is
            still copied if it is not contiguous, not aligned or cannot be written to.
    """
    if not array.size:  # numpy gives an empty array strides that TVM's code does not expect
        strides = np.cumprod((array.itemsize, *array.shape[:0:-1]))[::-1]
        array = np.lib.stride_tricks.as_strided(np.zeros_like(array), strides=strides.tolist())
        return tvm_ffi.from_dlpack(array)
    flags = array.flags
    if copy or not (flags.c_contiguous and flags.writeable) or _address(array) % ALIGNMENT:
        array = _aligned_copy(array)
    return tvm_ffi.from_dlpack(array)


def array_of(value: Any) -> np.ndarray:
    """Return one of TVM's tensors as an array that shares its memory."""
    return np.array(np.from_dlpack(value))


class Program:
    """A compiled model in TVM's virtual machine.

    Its ``main`` takes the model's inputs, and after them the constants that ``bytecode`` does not
    hold. Each thread that runs at the same time has its own machine, since a machine has a state.
    """

    def __init__(
        self, bytecode: bytes, kernels: Sequence[Any], constants: Sequence[Any], keeps: object
    ) -> None:
        """Assemble the parts of a program.

        Args:
            bytecode: a serialized executable of the virtual machine.
            kernels: the modules with the functions that it calls.
            constants: tensors, in the order of main's parameters.
            keeps: objects that must live as long as these, such as their memory.
        """
        self._constants = [*constants]
        self._keeps = keeps
        self._is_open = _OPEN in bytecode
        self._executable = function("ffi.Module.load_from_bytes.relax.VMExecutable")(bytecode)
        for kernel in kernels:
            self._executable.import_module(kernel)
        self._idle: list[Runner] = []

    def machine(self) -> Any:
        """Return a new virtual machine: a module with a function ``run`` of the inputs only."""
        machine = self._executable["vm_load_executable"]()
        # A pool would keep memory for every size that it was ever asked for.
        machine["vm_initialization"](_CPU, 0, _NAIVE if self._is_open else _POOLED)
        machine["save_function"]("main", "run", True, *self._constants)
        return machine

    def _runner(self) -> Runner:
        return Runner(self.machine(), is_open=self._is_open)

    def __call__(
        self, *tensors: Any, out: Mapping[int, np.ndarray] | None = None
    ) -> list[np.ndarray]:
        """Run on a machine that no other thread uses.

        Args:
            *tensors: the inputs.
            out: arrays that results are written to, by the results' indices. Each has its result's
                shape and dtype, and shares no memory with the inputs.

        Returns:
            The results, in memory of their own or in ``out``.

        Raises:
            QnnError: if TVM raises an error, or the code returns something else than tensors.
        """
        try:
            run = self._idle.pop()
        except IndexError:
            run = None
        try:
            run = run or self._runner()
            out = out or {}
            result = run(*tensors, out={place: direct(one) for place, one in out.items()})
            # Copy first: the next run of this machine, by any thread, may write there.
            return _arrays_of(result, out)
        except (MemoryError, QnnError):
            raise
        except Exception as error:
            raise _failure(error) from error
        finally:
            if run:
                self._idle.append(run)

    def prepare(self, *tensors: Any, out: Sequence[Any] = ()) -> Callable[[], None]:
        """Return a function that runs on these inputs; only one thread may call it.

        It raises the errors of ``__call__``.

        Args:
            *tensors: the inputs.
            out: tensors for all results; without them results are dropped.
        """
        call: Callable[[], object] | None = None

        def run() -> None:
            nonlocal call
            try:
                if call is None:
                    runner = self._runner()
                    runner(*tensors)
                    call = runner.bound(*tensors, out=out)
                    if not out:
                        return
                call()
            except MemoryError:
                raise
            except Exception as error:
                raise _failure(error) from error

        return run


def direct(array: np.ndarray) -> Any:
    """Return a tensor that shares an array's memory; None if TVM's code cannot write to it."""
    fits = array.size and array.flags.c_contiguous and not _address(array) % ALIGNMENT
    return tvm_ffi.from_dlpack(array) if fits else None


def _arrays_of(result: Any, out: Mapping[int, np.ndarray]) -> list[np.ndarray]:
    """Return the results of a run as arrays; an array of ``out`` that fits is used.

    Raises:
        QnnError: if a result is not a tensor.
    """
    try:
        results = [result] if hasattr(result, "__dlpack__") else result
        found = []
        for place, value in enumerate(results):
            target = out.get(place)
            array = np.from_dlpack(value)
            if target is None or (target.shape, target.dtype) != (array.shape, array.dtype):
                target = array_of(value)
            elif _address(target) != _address(array):
                target[...] = array
            found.append(target)
        return found
    except (TypeError, ValueError, AttributeError, BufferError) as error:
        raise QnnError(f"the library's code gives no tensors: {error}") from error


def _failure(error: Exception) -> QnnError:
    reason = (str(error).strip().splitlines() or [type(error).__name__])[-1]
    return QnnError(f"the library's code failed: {reason}")


def _aligned_copy(array: np.ndarray) -> np.ndarray:
    """Return a contiguous copy at an address that is a multiple of ALIGNMENT."""
    copy = aligned_zeros(array.shape, array.dtype)
    copy[...] = array
    return copy


def aligned_zeros(shape: Sequence[int], dtype: Any) -> np.ndarray:
    """Return zeros at an address that a run can read in place: a multiple of ALIGNMENT."""
    kind, count = np.dtype(dtype), math.prod(shape)
    memory = np.zeros(count * kind.itemsize + ALIGNMENT, np.uint8)
    start = -_address(memory) % ALIGNMENT
    return memory[start : start + count * kind.itemsize].view(kind).reshape(tuple(shape))


def _address(array: np.ndarray) -> int:
    address: int = array.__array_interface__["data"][0]
    return address
