"""The package from which programs import ONNX Runtime's errors."""

from tvm_qnn.onnxruntime.capi import onnxruntime_pybind11_state

__all__ = ["onnxruntime_pybind11_state"]
