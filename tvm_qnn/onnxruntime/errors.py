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


def _status(name: str, code: int, label: str, about: str = "") -> type[StatusError]:
    """Return a status's class. A class without a description is one that nothing raises here."""
    told = about or "An error of ONNX Runtime that nothing raises here."
    members = {"code": code, "label": label, "__module__": __name__, "__doc__": told}
    return type(name, (StatusError,), members)


Fail = _status(
    "Fail", 1, "FAIL", "The model cannot run with these shapes, or the program told a run to end."
)
InvalidArgument = _status(
    *("InvalidArgument", 2, "INVALID_ARGUMENT"),
    "A name, dtype, shape or value does not fit the model.",
)
NoSuchFile = _status("NoSuchFile", 3, "NO_SUCHFILE", "There is no file with this name.")
NoModel = _status("NoModel", 4, "NO_MODEL")
EngineError = _status("EngineError", 5, "ENGINE_ERROR")
RuntimeException = _status("RuntimeException", 6, "RUNTIME_EXCEPTION")
InvalidProtobuf = _status(
    "InvalidProtobuf", 7, "INVALID_PROTOBUF", "The file or the bytes are not a model."
)
ModelLoaded = _status("ModelLoaded", 8, "MODEL_LOADED")
NotImplemented = _status(
    *("NotImplemented", 9, "NOT_IMPLEMENTED"),
    "The model has operators or dtypes that tvm-qnn does not import.",
)
InvalidGraph = _status("InvalidGraph", 10, "INVALID_GRAPH", "The model is malformed.")
EPFail = _status("EPFail", 11, "EP_FAIL")

Unsupported = NotImplemented
"""The same class, with a name that Python does not use."""


class WrongState(QnnError, RuntimeError):
    """An error for which ONNX Runtime raises a ``RuntimeError``."""


class WrongType(QnnError, TypeError):
    """An error for which ONNX Runtime raises a ``TypeError``."""


class WrongObject(QnnError, AttributeError):
    """An error for which ONNX Runtime raises an ``AttributeError``."""
