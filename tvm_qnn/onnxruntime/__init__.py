"""The calls of ONNX Runtime's Python package, for programs that run models on the CPU.

Change the import line and keep the rest::

    import tvm_qnn.onnxruntime as onnxruntime       # was: import onnxruntime
    from tvm_qnn.onnxruntime import InferenceSession    # was: from onnxruntime import …

The package onnxruntime is neither needed nor imported.
"""

from collections.abc import Callable

from tvm_qnn.onnxruntime import capi
from tvm_qnn.onnxruntime.binding import IOBinding
from tvm_qnn.onnxruntime.errors import WrongState
from tvm_qnn.onnxruntime.model import ModelMetadata, NodeArg
from tvm_qnn.onnxruntime.session import InferenceSession
from tvm_qnn.onnxruntime.settings import (
    CPU,
    ExecutionMode,
    ExecutionOrder,
    GraphOptimizationLevel,
    MeaninglessSettingWarning,
    RunOptions,
    SessionOptions,
)
from tvm_qnn.onnxruntime.values import (
    OrtAllocatorType,
    OrtDeviceMemoryType,
    OrtMemoryInfo,
    OrtMemType,
    OrtValue,
)
from tvm_qnn.version import __version__ as _own_version

__version__ = "1.32.0"
"""The version of ONNX Runtime whose calls these are, as programs compare it."""


def get_available_providers() -> list[str]:
    """Return the only provider."""
    return [CPU]


get_all_providers = get_available_providers


def get_device() -> str:
    """Return "CPU"."""
    return "CPU"


def get_version_string() -> str:
    """Return the version of ONNX Runtime whose calls these are."""
    return __version__


def get_build_info() -> str:
    """Return the version of tvm-qnn."""
    return f"tvm-qnn Build Info: {_own_version}"


def set_default_logger_severity(severity: int) -> None:
    """Do nothing: nothing here writes to ONNX Runtime's log."""


def set_default_logger_callback(callback: Callable[..., object] | None, severity: int = 2) -> None:
    """Check the arguments, and do nothing: nothing here writes to ONNX Runtime's log.

    Raises:
        WrongState: the callback cannot be called, or there is no such severity.
    """
    if severity not in range(5):
        raise WrongState(f"Invalid logging severity: {severity}. They are 0 to 4.")
    if callback is not None and not callable(callback):
        raise WrongState("callback must be a callable")


def set_default_logger_verbosity(verbosity: int) -> None:
    """Do nothing: nothing here writes to ONNX Runtime's log."""


def set_seed(seed: int) -> None:
    """Do nothing: no operator here draws random numbers."""


def disable_telemetry_events() -> None:
    """Do nothing: there are no such events."""


def enable_telemetry_events() -> None:
    """Do nothing: there are no such events."""


__all__ = [
    "ExecutionMode",
    "ExecutionOrder",
    "GraphOptimizationLevel",
    "IOBinding",
    "InferenceSession",
    "MeaninglessSettingWarning",
    "ModelMetadata",
    "NodeArg",
    "OrtAllocatorType",
    "OrtDeviceMemoryType",
    "OrtMemType",
    "OrtMemoryInfo",
    "OrtValue",
    "RunOptions",
    "SessionOptions",
    "capi",
    "disable_telemetry_events",
    "enable_telemetry_events",
    "get_all_providers",
    "get_available_providers",
    "get_build_info",
    "get_device",
    "get_version_string",
    "set_default_logger_callback",
    "set_default_logger_severity",
    "set_default_logger_verbosity",
    "set_seed",
]
