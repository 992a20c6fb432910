"""ONNX Runtime's private classes, as its tests use them, made of the façade's public ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tvm_qnn import onnxruntime as own
from tvm_qnn.onnxruntime.capi.onnxruntime_pybind11_state import Fail

__all__ = ["Fail", "OrtDevice", "OrtValue", "OrtValueVector", "RunOptions", "SessionIOBinding"]

RunOptions = own.RunOptions


class OrtDevice:
    """A device: this processor."""

    def __init__(self, *_: int) -> None:
        """Take the numbers of a device."""

    @staticmethod
    def cpu() -> int:
        """Return the number of this processor."""
        return 0

    default_memory = cuda = dml = cpu


class OrtValueVector(list[own.OrtValue]):
    """Some values."""


class OrtValue(own.OrtValue):
    """A value, made by ONNX Runtime's private calls."""

    @classmethod
    def ortvalue_from_numpy(cls, numpy_obj: Any, /, *_: Any) -> own.OrtValue:
        """Return a value that shares an array's memory."""
        return super().ortvalue_from_numpy(numpy_obj)

    @classmethod
    def from_dlpack(cls, data: Any, is_bool: bool = False, /) -> own.OrtValue:
        """Return a value that shares a capsule's memory."""
        return super().from_dlpack(data)


class SessionIOBinding:
    """Inputs and outputs that are bound to memory."""

    def __init__(self, session: _Session) -> None:
        """Bind nothing yet."""
        self.bound = session.session.io_binding()
        self.bind_ortvalue_input = self.bound.bind_ortvalue_input

    def bind_input(self, name: str, _: OrtDevice, *place: Any) -> None:
        """Bind an input to a place: its type, shape and address."""
        self.bound.bind_input(name, "cpu", 0, *place)

    def bind_output(self, name: str, _: OrtDevice, *place: Any) -> None:
        """Bind an output to a place, or to new memory of each run."""
        self.bound.bind_output(name, "cpu", 0, *place)

    def get_outputs(self) -> OrtValueVector:
        """Return the outputs of the run before."""
        return OrtValueVector(self.bound.get_outputs())


class _Session:
    def __init__(self, session: own.InferenceSession) -> None:
        self.session = session

    def run_with_iobinding(self, binding: SessionIOBinding, options: Any) -> None:
        """Run on what is bound."""
        self.session.run_with_iobinding(binding.bound, options)

    def run_with_ort_values(
        self, feed: Mapping[str, own.OrtValue], names: Sequence[str], options: Any
    ) -> OrtValueVector:
        """Run on values."""
        return OrtValueVector(self.session.run_with_ort_values(names, feed, options))


setattr(own.InferenceSession, "_sess", property(_Session))  # noqa: B010
setattr(own.OrtValue, "_ortvalue", property(lambda value: value))  # noqa: B010
setattr(own.OrtValue, "_get_c_value", lambda value: value)  # noqa: B010
setattr(own.OrtValue, "to_dlpack", own.OrtValue.__dlpack__)  # noqa: B010
