"""``graph_executor``: sets inputs, runs, gets outputs."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import tvm
from tvm.runtime.module import BenchmarkResult

from qnn_ops.dialect.signature import TensorInfo
from qnn_ops.errors import QnnError
from tvm_qnn.library.arrays import results_of
from tvm_qnn.library.library import Library
from tvm_qnn.library.remote import RemoteLibrary
from tvm_qnn.library.watch import watch
from tvm_qnn.relay.expr import as_array
from tvm_qnn.relay.factory import FactoryModule
from tvm_qnn.relay.report import Report
from tvm_qnn.timing import Timing, one_core

_REPEAT = 10
"""The number of runs whose medians a profile takes."""


class GraphModule:
    """An executor, which holds a compiled model's inputs and outputs between calls."""

    def __init__(self, module: FactoryModule) -> None:
        """Make an executor.

        Args:
            module: ``lib["default"](device)``.
        """
        if not isinstance(module, FactoryModule):
            raise QnnError(f"GraphModule takes lib['default'](device), got {type(module).__name__}")
        self.module = _Timed(self)
        self._module = module
        self._library: Library | RemoteLibrary = module.library
        self._inputs = [np.zeros(info.shape, info.dtype) for info in self._library.inputs]
        self._outputs: list[np.ndarray] | None = None

    def set_input(self, key: str | int | None = None, value: Any = None, **params: Any) -> None:
        """Set inputs; they are converted to the input's dtype, as in Relay.

        Args:
            key: name or index of one input.
            value: its new contents: a numpy array, one of TVM's tensors or nested lists.
            **params: inputs by name. Other names are ignored: constants are part of the
                library.

        Raises:
            QnnError: if there is no input ``key``, or the shape does not fit.
        """
        if key is not None:
            self._set(self._index(key), value)
        for name, item in params.items():
            index = self.get_input_index(name)
            if index >= 0:
                self._set(index, item)

    def __getitem__(self, key: str) -> Callable[..., Any]:
        """Return a method of this object by its name, as ``module["run"]``."""
        if key not in _FUNCTIONS:
            raise QnnError(f"an executor has the functions {', '.join(_FUNCTIONS)}, not {key!r}")
        function: Callable[..., Any] = getattr(self, key)
        return function

    def set_input_zero_copy(self, key: str | int, value: Any) -> None:
        """Let an input share a tensor's memory. The next run reads what is written there.

        Args:
            key: name or index of the input.
            value: a tensor with the input's shape and dtype.

        Raises:
            QnnError: if there is no such input, or the tensor does not fit.
        """
        index = self._index(key)
        info: TensorInfo = self._library.inputs[index]
        array = value if isinstance(value, np.ndarray) else np.from_dlpack(value)
        if not info.takes(array.shape) or str(array.dtype) != info.dtype:
            raise QnnError(
                f"input {info.name!r} is {info.dtype} of shape {info.shape}, "
                f"got {array.dtype} of shape {array.shape}"
            )
        self._inputs[index] = array

    def load_params(self, params_bytes: bytes) -> None:
        """Set inputs from the bytes of ``relay.save_param_dict``; other names are ignored."""
        self.set_input(**tvm.runtime.load_param_dict(bytes(params_bytes)))

    def share_params(self, other: GraphModule, params_bytes: bytes) -> None:
        """Do nothing: executors of one library always share its weights."""
        if other._library is not self._library:
            raise QnnError("share_params: the other executor must be of the same library")
        self.load_params(params_bytes)

    def debug_get_output(self, node: Any, out: Any = None) -> Any:
        """Refuse: a compiled model keeps only its outputs."""
        raise QnnError(
            f"debug_get_output({node!r}): a compiled model keeps no inner tensors; import the "
            "model with outputs='all', or use tvm_qnn.compare"
        )

    def profile(self, collectors: Any = None, **input_dict: Any) -> Report:
        """Time each function of a run, on one thread, after ``set_input(**input_dict)``.

        A model that this process built is compiled again, with small functions kept separate.
        ``tvm-qnn profile`` times a file's model by its layers.

        Args:
            collectors: has no effect.
            **input_dict: inputs by name.

        Raises:
            QnnError: if the library is on a device.
        """
        del collectors
        self.set_input(**input_dict)
        library = self._module.to_watch()
        with one_core():
            return Report(watch(library, self._inputs, _REPEAT))

    def run(self, **input_dict: Any) -> None:
        """Run the model, after ``set_input(**input_dict)``."""
        if input_dict:
            self.set_input(**input_dict)
        self._outputs = results_of(self._library.run(*self._inputs))

    def get_num_inputs(self) -> int:
        """Return the number of inputs."""
        return len(self._inputs)

    def get_num_outputs(self) -> int:
        """Return the number of outputs."""
        return len(self._library.outputs)

    num_outputs = property(get_num_outputs)

    def get_input(self, index: int | str, out: Any = None) -> Any:
        """Return an input as one of TVM's tensors, or in ``out``."""
        return _tensor(self._inputs[self._index(index)], out)

    def get_input_index(self, name: str) -> int:
        """Return the index of the input with this name, -1 if there is none."""
        return _index_of(name, self._library.inputs)

    def get_input_info(self) -> tuple[dict[str, tuple[int, ...]], dict[str, str]]:
        """Return the shapes and the dtypes of the inputs, both by name."""
        return _described(self._library.inputs)

    def get_output_index(self, name: str) -> int:
        """Return the index of the output with this name, -1 if there is none."""
        return _index_of(name, self._library.outputs)

    def get_output_info(self) -> tuple[dict[str, tuple[int, ...]], dict[str, str]]:
        """Return the shapes and the dtypes of the outputs, both by name."""
        return _described(self._library.outputs)

    def get_output(self, index: int, out: Any = None) -> Any:
        """Return an output of the last run as one of TVM's tensors, or in ``out``.

        Raises:
            QnnError: if the model has not run or has no such output.
        """
        if self._outputs is None:
            raise QnnError("get_output: call run first")
        if not 0 <= index < len(self._outputs):
            raise QnnError(f"there are {len(self._outputs)} outputs, none has number {index}")
        return _tensor(self._outputs[index], out)

    def benchmark(
        self,
        device: Any = None,
        func_name: str = "run",
        repeat: int = 5,
        number: int = 5,
        min_repeat_ms: int | None = None,
        limit_zero_time_iterations: int = 100,
        end_to_end: bool = False,
        cooldown_interval_ms: int = 0,
        repeats_to_cooldown: int = 1,
        **inputs: Any,
    ) -> BenchmarkResult:
        """Time the model with its present inputs.

        Args:
            device: must be ``tvm.cpu()``, or be left out.
            func_name: run.
            repeat: how many figures to measure.
            number: the runs that a figure averages; more if ``min_repeat_ms`` requires them.
            min_repeat_ms: the least duration of a figure.
            limit_zero_time_iterations: has no effect.
            end_to_end: whether setting inputs and getting outputs counts, too.
            cooldown_interval_ms: has no effect.
            repeats_to_cooldown: has no effect.
            **inputs: inputs to set before.

        Returns:
            The figures: ``mean``, ``median``, ``min``, ``max``, ``std`` and ``results``, in
            seconds.
        """
        del limit_zero_time_iterations, cooldown_interval_ms, repeats_to_cooldown
        self.set_input(**inputs)
        if min_repeat_ms:
            once = self._benchmark(self.run, 1, 1).mean
            number = max(number, math.ceil(min_repeat_ms / 1000 / once))
        if end_to_end:
            return self._benchmark(self.run, repeat, number)
        return self.module.time_evaluator(func_name, device, number=number, repeat=repeat)()

    def _benchmark(self, run: Callable[[], object], repeat: int, number: int) -> BenchmarkResult:
        _check_counts(repeat, number)

        def several() -> None:
            for _ in range(number):
                run()

        run()
        seconds = Timing.of(several, repeat).seconds
        return BenchmarkResult([second / number for second in seconds])

    def _index(self, key: str | int) -> int:
        index = self.get_input_index(key) if isinstance(key, str) else key
        if not 0 <= index < len(self._inputs):
            names = ", ".join(info.name for info in self._library.inputs)
            raise QnnError(f"no input {key!r}; there are {names}")
        return index

    def _set(self, index: int, value: Any) -> None:
        info: TensorInfo = self._library.inputs[index]
        array = as_array(value)
        if not info.takes(array.shape):
            raise QnnError(f"input {info.name!r} has shape {info.shape}, got {array.shape}")
        self._inputs[index] = array.astype(info.dtype)


_FUNCTIONS = (
    *("set_input", "set_input_zero_copy", "run", "get_output", "get_input", "load_params"),
    *("share_params", "debug_get_output", "get_num_inputs", "get_num_outputs", "profile"),
    *("get_input_index", "get_output_index", "get_input_info", "get_output_info"),
)
"""The methods that ``module[name]`` returns."""


class _Timed:
    """The ``module`` of an executor, whose ``time_evaluator`` scripts call."""

    def __init__(self, executor: GraphModule) -> None:
        self._executor = executor

    def time_evaluator(
        self,
        func_name: str = "run",
        dev: Any = None,
        number: int = 10,
        repeat: int = 1,
        **_options: Any,
    ) -> Callable[[], BenchmarkResult]:
        """Return a function that takes ``repeat`` times the mean of ``number`` runs, in seconds."""
        if func_name != "run":
            raise QnnError(f"time_evaluator times 'run', got {func_name!r}")
        executor = self._executor
        _check_counts(repeat, number)

        def measure(*_args: Any) -> BenchmarkResult:
            seconds = executor._library.benchmark(*executor._inputs, repeat=repeat * number).seconds
            groups = (seconds[i : i + number] for i in range(0, len(seconds), number))
            return BenchmarkResult([statistics.fmean(group) for group in groups])

        return measure


def _check_counts(repeat: int, number: int) -> None:
    if repeat < 1 or number < 1:
        raise QnnError(f"repeat and number must be at least 1, got {repeat} and {number}")


def _index_of(name: str, infos: Sequence[TensorInfo]) -> int:
    return next((place for place, info in enumerate(infos) if info.name == name), -1)


def _described(infos: Sequence[TensorInfo]) -> tuple[dict[str, tuple[int, ...]], dict[str, str]]:
    return {i.name: i.shape for i in infos}, {i.name: i.dtype for i in infos}


def create(graph_json_str: str, libmod: FactoryModule, device: Any) -> GraphModule:
    """Make an executor from the three results of ``relay.build``; the graph has no effect."""
    return GraphModule(libmod["default"](device))


def _tensor(array: np.ndarray, out: Any) -> Any:
    if out is None:
        return tvm.runtime.tensor(array)
    out.copyfrom(array)
    return out
