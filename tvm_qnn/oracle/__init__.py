"""The frameworks themselves, which compute the expected results of their models."""

from tvm_qnn.oracle.litert import LiteRtSession, check_litert, litert_runs, litert_tensors
from tvm_qnn.oracle.onnx_runtime import (
    OnnxRuntimeSession,
    check_onnxruntime,
    onnxruntime_outputs,
    onnxruntime_tensors,
)
from tvm_qnn.oracle.xnnpack import XnnpackSession, check_executorch, xnnpack_outputs

__all__ = [
    "LiteRtSession",
    "OnnxRuntimeSession",
    "XnnpackSession",
    "check_executorch",
    "check_litert",
    "check_onnxruntime",
    "litert_runs",
    "litert_tensors",
    "onnxruntime_outputs",
    "onnxruntime_tensors",
    "xnnpack_outputs",
]
