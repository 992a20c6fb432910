"""The calls of ONNX Runtime's Python package, for programs that run models on the CPU.

Change the import line and keep the rest::

    import tvm_qnn.onnxruntime as onnxruntime       # was: import onnxruntime
    from tvm_qnn.onnxruntime import InferenceSession    # was: from onnxruntime import …

The package onnxruntime is neither needed nor imported.
"""

from collections.abc import Callable

from qnn_ops.lazy import offer_names
from tvm_qnn.onnxruntime import capi as capi
from tvm_qnn.onnxruntime.binding import IOBinding as IOBinding
from tvm_qnn.onnxruntime.errors import WrongState
from tvm_qnn.onnxruntime.model import ModelMetadata as ModelMetadata
from tvm_qnn.onnxruntime.model import NodeArg as NodeArg
from tvm_qnn.onnxruntime.providers import CPU
from tvm_qnn.onnxruntime.session import InferenceSession as InferenceSession
from tvm_qnn.onnxruntime.settings import ExecutionMode as ExecutionMode
from tvm_qnn.onnxruntime.settings import ExecutionOrder as ExecutionOrder
from tvm_qnn.onnxruntime.settings import GraphOptimizationLevel as GraphOptimizationLevel
from tvm_qnn.onnxruntime.settings import MeaninglessSettingWarning as MeaninglessSettingWarning
from tvm_qnn.onnxruntime.settings import RunOptions as RunOptions
from tvm_qnn.onnxruntime.settings import SessionOptions as SessionOptions
from tvm_qnn.onnxruntime.values import OrtAllocatorType as OrtAllocatorType
from tvm_qnn.onnxruntime.values import OrtDeviceMemoryType as OrtDeviceMemoryType
from tvm_qnn.onnxruntime.values import OrtMemoryInfo as OrtMemoryInfo
from tvm_qnn.onnxruntime.values import OrtMemType as OrtMemType
from tvm_qnn.onnxruntime.values import OrtValue as OrtValue
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


offer_names(__name__)
