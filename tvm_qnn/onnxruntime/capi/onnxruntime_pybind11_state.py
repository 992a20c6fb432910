"""The classes of errors, under the module's name in ONNX Runtime."""

from tvm_qnn.onnxruntime.errors import *  # noqa: F403
