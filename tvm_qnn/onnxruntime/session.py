"""``InferenceSession``: a model that is compiled as soon as its shapes are known.

The values that a program gives a run become arrays, with ONNX Runtime's checks.
"""

import copy
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from qnn_ops.errors import QnnError
from tvm_qnn.onnxruntime.binding import IOBinding
from tvm_qnn.onnxruntime.elements import dtype_of, type_of_dtype
from tvm_qnn.onnxruntime.errors import (
    Fail,
    InvalidArgument,
    StatusError,
    WrongObject,
    WrongState,
    WrongType,
)
from tvm_qnn.onnxruntime.libraries import Libraries
from tvm_qnn.onnxruntime.model import Model, ModelMetadata, NodeArg, read_model
from tvm_qnn.onnxruntime.settings import CPU, RunOptions, SessionOptions, check_providers
from tvm_qnn.onnxruntime.values import OrtMemoryInfo, OrtValue


class InferenceSession:
    """A model, compiled for this machine: at once if its shapes are known, otherwise by its runs.

    A run with new shapes compiles the model for them; ``Last`` keeps some of these libraries.
    Threads may share a session.
    """

    def __init__(
        self,
        path_or_bytes: str | bytes | os.PathLike[str],
        sess_options: SessionOptions | None = None,
        providers: Sequence[Any] | None = None,
        provider_options: Sequence[Mapping[Any, Any]] | None = None,
        **kwargs: Any,
    ) -> None:
        """Read and check a model, and compile it if its shapes are known.

        Args:
            path_or_bytes: the path of an .onnx file, with its other files beside it; or the
                contents.
            sess_options: the session's options.
            providers: "CPUExecutionProvider", the only one; others only cause a warning.
            provider_options: have no effect.
            **kwargs: with ``enable_fallback=0`` faults of providers are errors.

        Raises:
            QnnError: the model cannot be read or imported; as ONNX Runtime's error.
        """
        if not isinstance(path_or_bytes, str | bytes | os.PathLike):
            raise WrongType(f"Unable to load from type '{type(path_or_bytes)}'")
        if not isinstance(sess_options, SessionOptions | None):
            raise WrongType(f"sess_options are SessionOptions, got {type(sess_options).__name__}")
        self._falls_back = int(kwargs.get("enable_fallback", 1)) == 1
        check_providers(providers, provider_options, falls_back=self._falls_back)
        self._options = copy.copy(sess_options or SessionOptions())
        source = path_or_bytes if isinstance(path_or_bytes, bytes) else os.fspath(path_or_bytes)
        self._model = read_model(source, self._options)
        threads = self._options.intra_op_num_threads
        self._libraries = Libraries(self._model, threads if threads > 0 else None)
        self._names = [arg.name for arg in self._model.inputs]
        self._numbers = {arg.name: number for number, arg in enumerate(self._model.outputs)}
        if self._model.is_static:
            self._libraries.runner_of({arg.name: arg.sizes() for arg in self._model.inputs})
            if not self._model.overridable:
                self._model.proto = None  # nothing more will be compiled

    def run(
        self,
        output_names: Sequence[str] | None,
        input_feed: Mapping[str, Any],
        run_options: RunOptions | None = None,
    ) -> list[np.ndarray]:
        """Run the model once.

        Args:
            output_names: the names of the wanted outputs; None or nothing for all.
            input_feed: arrays by the names of the inputs.
            run_options: the run's options.

        Returns:
            The outputs, in the order of their names.

        Raises:
            QnnError: something is missing, unknown or does not fit; as ONNX Runtime's error.
        """
        try:
            # This way checks nothing that takes time. If it fails, the other way checks everything.
            arrays = [input_feed[name] for name in self._names]
            runner = self._libraries.runners[tuple([array.shape for array in arrays])]
            goes_on = run_options is None or run_options.terminate is False
            if goes_on and len(input_feed) == len(arrays):
                if not output_names:
                    return runner(arrays)
                if not isinstance(output_names, str):
                    numbers = [self._numbers[name] for name in output_names]
                    found = runner(arrays)
                    return [found[number] for number in numbers]
        except (AttributeError, KeyError, QnnError, TypeError):
            pass
        return self._run_checked(output_names, input_feed, run_options)

    def _run_checked(
        self, output_names: Any, input_feed: Any, run_options: Any
    ) -> list[np.ndarray]:
        arrays = arrays_of(self._model, input_feed)
        numbers = self._wanted(output_names)
        if not isinstance(run_options, RunOptions | None):
            raise WrongType(f"run_options are RunOptions, got {type(run_options).__name__}")
        if run_options is not None and run_options.terminate:
            raise Fail("Exiting due to terminate flag being set to true.")
        runner = self._libraries.runner_for(arrays)
        try:
            found = runner(list(arrays.values()))
        except StatusError:
            raise
        except QnnError as error:  # such as an index beyond the end of a table
            raise InvalidArgument(f"Non-zero status code returned: {error}") from error
        return [found[number] for number in numbers]

    def _wanted(self, output_names: Any) -> list[int]:
        if not output_names:
            return list(self._numbers.values())
        are_texts = isinstance(output_names, Sequence) and not isinstance(output_names, str)
        if not are_texts or not all(isinstance(name, str) for name in output_names):
            raise WrongType(f"run(): outputs are a list of names, got {output_names!r}")
        for name in output_names:
            if name not in self._numbers:
                raise InvalidArgument(f"Invalid output name:{name}")
        return [self._numbers[name] for name in output_names]

    def run_async(
        self,
        output_names: Sequence[str] | None,
        input_feed: Mapping[str, Any],
        callback: Callable[[list[np.ndarray], Any, str], object],
        user_data: Any,
        run_options: RunOptions | None = None,
    ) -> None:
        """Run the model once in another thread.

        Args:
            output_names: as ``run`` takes them.
            input_feed: as ``run`` takes it.
            callback: called with the outputs, ``user_data``, and the text of an error or "".
            user_data: any object.
            run_options: the run's options.
        """

        def work() -> None:
            try:
                found, text = self.run(output_names, input_feed, run_options), ""
            except QnnError as error:
                found, text = [], error.reason if isinstance(error, StatusError) else str(error)
            callback(found, user_data, text)

        threading.Thread(target=work).start()

    def run_with_ort_values(
        self,
        output_names: Sequence[str] | None,
        input_dict_ort_values: Mapping[str, OrtValue],
        run_options: RunOptions | None = None,
    ) -> list[OrtValue]:
        """Run the model once on ``OrtValue`` objects, and return such objects.

        Raises:
            QnnError: as ``run`` raises it.
        """
        for name, value in input_dict_ort_values.items():
            if not isinstance(value, OrtValue):
                raise WrongObject(f"input {name!r} must be an OrtValue, got {type(value).__name__}")
        feed = {name: value.array for name, value in input_dict_ort_values.items()}
        return list(map(OrtValue, self.run(output_names, feed, run_options)))

    def io_binding(self) -> IOBinding:
        """Return a binding without inputs and outputs."""
        return IOBinding(self)

    def run_with_iobinding(self, iobinding: IOBinding, run_options: Any = None) -> None:
        """Run the model once on a binding's inputs and outputs.

        Raises:
            WrongState: something is missing or does not fit.
            WrongObject: the argument is not a binding.
        """
        if not isinstance(iobinding, IOBinding):
            raise WrongObject(f"runs take an IOBinding, got {type(iobinding).__name__}")
        iobinding.run(run_options)

    def get_inputs(self) -> list[NodeArg]:
        """Return name, type and shape of each input."""
        return list(self._model.inputs)

    def get_outputs(self) -> list[NodeArg]:
        """Return name, type and shape of each output."""
        return list(self._model.outputs)

    def get_overridable_initializers(self) -> list[NodeArg]:
        """Return the constants for which a run may give other values."""
        return list(self._model.overridable)

    def get_input_memory_infos(self) -> list[OrtMemoryInfo]:
        """Return the memory of each input: that of this process."""
        return [OrtMemoryInfo() for _ in self._model.inputs]

    def get_output_memory_infos(self) -> list[OrtMemoryInfo]:
        """Return the memory of each output: that of this process."""
        return [OrtMemoryInfo() for _ in self._model.outputs]

    def get_modelmeta(self) -> ModelMetadata:
        """Return the file's description of the model."""
        return self._model.metadata

    def get_session_options(self) -> SessionOptions:
        """Return a copy of the options."""
        return copy.copy(self._options)

    def get_providers(self) -> list[str]:
        """Return the only provider."""
        return [CPU]

    def get_provider_options(self) -> dict[str, dict[str, str]]:
        """Return the options of the only provider: none."""
        return {CPU: {}}

    def set_providers(
        self,
        providers: Sequence[Any] | None = None,
        provider_options: Sequence[Mapping[Any, Any]] | None = None,
    ) -> None:
        """Check providers, without falling back; nothing else changes.

        Raises:
            QnnError: they are malformed or unknown.
        """
        check_providers(providers, provider_options, falls_back=False)

    def enable_fallback(self) -> None:
        """Let faults of providers be warnings."""
        self._falls_back = True

    def disable_fallback(self) -> None:
        """Let faults of providers be errors."""
        self._falls_back = False

    def end_profiling(self) -> str:
        """Return an empty name: nothing was profiled."""
        return ""

    def get_profiling_start_time_ns(self) -> int:
        """Return 0: nothing was profiled."""
        return 0


def arrays_of(model: Model, feed: Any) -> dict[str, np.ndarray]:
    """Return the arrays of a run: the model's inputs in order, then constants that are given.

    Args:
        model: the model.
        feed: arrays, nested lists or values (``OrtValue``) by name.

    Raises:
        QnnError: a value is missing, has an unknown name or does not fit; as ONNX Runtime's error.
    """
    if not isinstance(feed, Mapping):
        raise WrongObject(f"{type(feed).__name__!r} object has no attribute 'keys'")
    if missing := [arg.name for arg in model.inputs if arg.name not in feed]:
        raise QnnError(f"Required inputs ({missing}) are missing from input feed ({list(feed)}).")
    if odd := [name for name in feed if not isinstance(name, str)]:
        raise WrongType(f"run(): inputs are named by texts, got {odd[0]!r}")
    known = {arg.name: arg for arg in (*model.inputs, *model.overridable)}
    arrays = {name: _array(known.get(name), name, value) for name, value in feed.items()}
    for name, array in arrays.items():
        if name not in known:
            raise InvalidArgument(f"Invalid input name: {name}")
        if (actual := type_of_dtype(array.dtype)) != known[name].type:
            raise InvalidArgument(
                f"Unexpected input data type. Actual: ({actual}) , expected: ({known[name].type})"
            )
    for name, array in arrays.items():
        if name not in model.without_shape:
            _check_shape(known[name], array.shape)
    return {name: arrays[name] for name in known if name in arrays}


def _array(arg: NodeArg | None, name: str, value: Any) -> np.ndarray:
    if isinstance(value, OrtValue):
        return value.array
    if isinstance(value, np.ndarray):
        return value if value.dtype.isnative else value.astype(value.dtype.newbyteorder("="))
    if isinstance(value, list) and arg is not None:
        try:
            return np.array(value, dtype_of(arg.type))
        except (TypeError, ValueError):
            raise WrongState("Could not create tensor from given input list") from None
    if isinstance(value, str | tuple):
        raise WrongState(
            f"Input must be a list of dictionaries or a single numpy array for input {name!r}."
        )
    raise WrongState(f"Unable to handle object of type {type(value)}")


def _check_shape(arg: NodeArg, shape: tuple[int, ...]) -> None:
    advice = "Please fix either the inputs/outputs or the model."
    if len(shape) != len(arg.shape):
        raise InvalidArgument(
            f"Invalid rank for input: {arg.name} Got: {len(shape)} Expected: {len(arg.shape)} "
            f"{advice}"
        )
    pairs = enumerate(zip(shape, arg.shape, strict=True))
    wrong = [
        f" index: {index} Got: {got} Expected: {expected}\n"
        for index, (got, expected) in pairs
        if isinstance(expected, int) and expected > 0 and got != expected
    ]
    if wrong:
        raise InvalidArgument(
            f"Got invalid dimensions for input: {arg.name} for the following indices\n"
            f"{''.join(wrong)} {advice}"
        )
