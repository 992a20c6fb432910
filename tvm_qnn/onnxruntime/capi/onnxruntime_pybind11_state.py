"""The classes of errors, under the module's name in ONNX Runtime."""

from tvm_qnn.onnxruntime.errors import *  # noqa: F403
from tvm_qnn.onnxruntime.errors import StatusError

__all__ = [each.__name__ for each in StatusError.__subclasses__()]
