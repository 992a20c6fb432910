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


class InvalidProtobuf(StatusError):
    """The file or the bytes are not a model."""

    code, label = 7, "INVALID_PROTOBUF"


class NotImplemented(StatusError):
    """The model has operators or dtypes that tvm-qnn does not import."""

    code, label = 9, "NOT_IMPLEMENTED"


Unsupported = NotImplemented
"""The same class, with a name that Python does not use."""


class InvalidGraph(StatusError):
    """The model is malformed."""

    code, label = 10, "INVALID_GRAPH"


def _unraised(name: str, code: int, label: str) -> type[StatusError]:
    """Return the class of an error that programs may catch, and that nothing raises here."""
    about = "An error of ONNX Runtime that nothing raises here."
    members = {"code": code, "label": label, "__module__": __name__, "__doc__": about}
    return type(name, (StatusError,), members)


NoModel = _unraised("NoModel", 4, "NO_MODEL")
EngineError = _unraised("EngineError", 5, "ENGINE_ERROR")
RuntimeException = _unraised("RuntimeException", 6, "RUNTIME_EXCEPTION")
ModelLoaded = _unraised("ModelLoaded", 8, "MODEL_LOADED")
EPFail = _unraised("EPFail", 11, "EP_FAIL")


class WrongState(QnnError, RuntimeError):
    """An error for which ONNX Runtime raises a ``RuntimeError``."""


class WrongType(QnnError, TypeError):
    """An error for which ONNX Runtime raises a ``TypeError``."""


class WrongObject(QnnError, AttributeError):
    """An error for which ONNX Runtime raises an ``AttributeError``."""
