"""``IOBinding``: inputs and outputs that runs read and write in place."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from qnn_ops.errors import QnnError
from tvm_qnn.onnxruntime.elements import dtype_to_use
from tvm_qnn.onnxruntime.errors import StatusError, WrongObject, WrongState
from tvm_qnn.onnxruntime.values import OrtValue, check_device

if TYPE_CHECKING:
    from tvm_qnn.onnxruntime.session import InferenceSession


class IOBinding:
    """Inputs and outputs of a session's runs, by name; ``InferenceSession.io_binding`` makes it."""

    def __init__(self, session: InferenceSession) -> None:
        """Bind nothing yet."""
        self._session = session
        self._inputs: dict[str, OrtValue] = {}
        self._places: dict[str, OrtValue | None] = {}
        self._outputs: list[OrtValue] = []

    def bind_cpu_input(self, name: str, arr_on_cpu: np.ndarray) -> None:
        """Bind an input to an array. Each run reads what the array holds then.

        Raises:
            WrongState: there is no such input, or the value is not an array.
        """
        if not isinstance(arr_on_cpu, np.ndarray):
            raise WrongState("Unable to create OrtValue from the given python object")
        self._bind(name, OrtValue.ortvalue_from_numpy(arr_on_cpu))

    def bind_input(
        self,
        name: str,
        device_type: str,
        device_id: int,
        element_type: Any,
        shape: Sequence[int],
        buffer_ptr: int,
    ) -> None:
        """Bind an input to memory, which must stay valid.

        Args:
            name: the input's name.
            device_type: cpu.
            device_id: has no effect.
            element_type: numpy's type, or ONNX's number of one.
            shape: the tensor's shape.
            buffer_ptr: the memory's address.

        Raises:
            WrongState: there is no such input, type or device.
        """
        check_device(device_type)
        self._bind(name, _at(buffer_ptr, element_type, shape))

    def bind_ortvalue_input(self, name: str, ortvalue: OrtValue) -> None:
        """Bind an input to a value.

        Raises:
            WrongState: there is no such input.
            WrongObject: the value is not an ``OrtValue``.
        """
        self._bind(name, _checked(ortvalue))

    def bind_output(
        self,
        name: str,
        device_type: str = "cpu",
        device_id: int = 0,
        element_type: Any = None,
        shape: Sequence[int] | None = None,
        buffer_ptr: int | None = None,
    ) -> None:
        """Ask for an output: in given memory, which must stay valid, or in new memory for each run.

        Args:
            name: the output's name.
            device_type: cpu.
            device_id: has no effect.
            element_type: numpy's type, or ONNX's number of one; for given memory.
            shape: the tensor's shape; for given memory.
            buffer_ptr: the address of given memory.

        Raises:
            QnnError: there is no such type or device, or given memory has no type or shape.
        """
        check_device(device_type)
        if buffer_ptr is None:
            self._places[name] = None
            return
        if element_type is None or shape is None:
            raise QnnError(
                "`element_type` and `shape` are to be provided if pre-allocated memory is provided"
            )
        self._places[name] = _at(buffer_ptr, element_type, shape)

    def bind_ortvalue_output(self, name: str, ortvalue: OrtValue) -> None:
        """Let runs write an output into a value.

        Raises:
            WrongObject: the value is not an ``OrtValue``.
        """
        self._places[name] = _checked(ortvalue)

    def synchronize_inputs(self) -> None:
        """Do nothing: inputs are in this process's memory."""

    def synchronize_outputs(self) -> None:
        """Do nothing: outputs are in this process's memory."""

    def get_outputs(self) -> list[OrtValue]:
        """Return the outputs of the last run, in the order in which they were bound."""
        return list(self._outputs)

    def copy_outputs_to_cpu(self) -> list[np.ndarray]:
        """Return copies of the outputs of the last run."""
        return [value.array.copy() for value in self._outputs]

    def clear_binding_inputs(self) -> None:
        """Forget the inputs."""
        self._inputs.clear()

    def clear_binding_outputs(self) -> None:
        """Forget the outputs."""
        self._places.clear()
        self._outputs = []

    def run(self, run_options: Any) -> None:
        """Run the session once; see ``InferenceSession.run_with_iobinding``.

        Raises:
            WrongState: as ONNX Runtime raises it.
        """
        try:
            self._run(run_options)
        except QnnError as error:
            reason = error.reason if isinstance(error, StatusError) else str(error)
            raise WrongState(f"Error in execution: {reason}") from error

    def _run(self, run_options: Any) -> None:
        if not self._places:
            raise QnnError("At least one output should be requested.")
        types = {arg.name: arg.type for arg in self._session.get_outputs()}
        for name, place in self._places.items():
            if name not in types:
                raise QnnError(f"Invalid output name: {name}")
            if place is not None and place.data_type() != types[name]:
                raise QnnError(
                    f"Unexpected output data type. Actual: ({place.data_type()}) , "
                    f"expected: ({types[name]})"
                )
        for arg in self._session.get_inputs():
            if arg.name not in self._inputs:
                raise QnnError(f"Missing Input: {arg.name}")
        feed = {name: value.array for name, value in self._inputs.items()}
        found = self._session.run(list(self._places), feed, run_options)
        places = self._places.items()
        self._outputs = [
            _written(name, place, array) for (name, place), array in zip(places, found, strict=True)
        ]

    def _bind(self, name: str, value: OrtValue) -> None:
        session = self._session
        args = (*session.get_inputs(), *session.get_overridable_initializers())
        if name not in {arg.name for arg in args}:
            raise WrongState(f"Failed to find NodeArg with name: {name} in the def list")
        self._inputs[name] = value


def _checked(value: Any) -> OrtValue:
    if not isinstance(value, OrtValue):
        raise WrongObject(f"an input or output is bound to an OrtValue, got {type(value).__name__}")
    return value


def _at(address: int, element_type: Any, shape: Sequence[int]) -> OrtValue:
    dtype = dtype_to_use(element_type)
    memory = (ctypes.c_byte * (prod(shape) * dtype.itemsize)).from_address(address)
    return OrtValue(np.frombuffer(memoryview(memory), dtype).reshape(tuple(shape)))


def _written(name: str, place: OrtValue | None, array: np.ndarray) -> OrtValue:
    """Return a result, written to the memory that it is bound to, if any."""
    if place is None:
        return OrtValue(array)
    if place.array.shape != array.shape:
        sizes = [",".join(map(str, each.shape)) for each in (place.array, array)]
        raise QnnError(
            f"The output OrtValue provided for output {name!r} has shape {{{sizes[0]}}} but the "
            f"computed output shape for this run is {{{sizes[1]}}}."
        )
    np.copyto(place.array, array)
    return place
