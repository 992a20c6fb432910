"""Where programs that catch ONNX Runtime's errors import them from."""

from tvm_qnn.onnxruntime.capi import onnxruntime_pybind11_state

__all__ = ["onnxruntime_pybind11_state"]
