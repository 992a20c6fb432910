"""ONNX Runtime's errors, with its names and its texts; each is a ``QnnError``, too."""

from qnn_ops.errors import QnnError


class StatusError(QnnError):
    """An error with a status, as every error that ONNX Runtime's own code raises."""

    code: int
    label: str

    def __init__(self, reason: str) -> None:
        """Write the text as ONNX Runtime does.

        Args:
            reason: the error's reason, which follows the status.
        """
        super().__init__(f"[ONNXRuntimeError] : {self.code} : {self.label} : {reason}")
        self.reason = reason


class Fail(StatusError):
    """The model cannot run with these shapes, or the program told a run to end."""

    code, label = 1, "FAIL"


class InvalidArgument(StatusError):
    """A name, dtype, shape or value does not fit the model."""

    code, label = 2, "INVALID_ARGUMENT"


class NoSuchFile(StatusError):
    """There is no file with this name."""

    code, label = 3, "NO_SUCHFILE"


class NoModel(StatusError):
    """There is no model; nothing raises it here."""

    code, label = 4, "NO_MODEL"


class EngineError(StatusError):
    """A device failed; nothing raises it here."""

    code, label = 5, "ENGINE_ERROR"


class RuntimeException(StatusError):
    """An operator failed while it ran; nothing raises it here."""

    code, label = 6, "RUNTIME_EXCEPTION"


class InvalidProtobuf(StatusError):
    """The file or the bytes are not a model."""

    code, label = 7, "INVALID_PROTOBUF"


class ModelLoaded(StatusError):
    """A model is loaded already; nothing raises it here."""

    code, label = 8, "MODEL_LOADED"


class NotImplemented(StatusError):
    """The model has operators or dtypes that tvm-qnn does not import."""

    code, label = 9, "NOT_IMPLEMENTED"


Unsupported = NotImplemented
"""The same class, with a name that Python does not use."""


class InvalidGraph(StatusError):
    """The model is malformed."""

    code, label = 10, "INVALID_GRAPH"


class EPFail(StatusError):
    """An execution provider failed; nothing raises it here."""

    code, label = 11, "EP_FAIL"


class WrongState(QnnError, RuntimeError):
    """An error for which ONNX Runtime raises a ``RuntimeError``."""


class WrongType(QnnError, TypeError):
    """An error for which ONNX Runtime raises a ``TypeError``."""


class WrongObject(QnnError, AttributeError):
    """An error for which ONNX Runtime raises an ``AttributeError``."""
