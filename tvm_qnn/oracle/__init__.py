"""The frameworks themselves, which compute the expected results of their models."""

from tvm_qnn.oracle.litert import LiteRtSession as LiteRtSession
from tvm_qnn.oracle.litert import check_litert as check_litert
from tvm_qnn.oracle.litert import litert_runs as litert_runs
from tvm_qnn.oracle.litert import litert_tensors as litert_tensors
from tvm_qnn.oracle.onnx_runtime import OnnxRuntimeSession as OnnxRuntimeSession
from tvm_qnn.oracle.onnx_runtime import check_onnxruntime as check_onnxruntime
from tvm_qnn.oracle.onnx_runtime import onnxruntime_outputs as onnxruntime_outputs
from tvm_qnn.oracle.onnx_runtime import onnxruntime_tensors as onnxruntime_tensors
from tvm_qnn.oracle.xnnpack import XnnpackSession as XnnpackSession
from tvm_qnn.oracle.xnnpack import check_executorch as check_executorch
from tvm_qnn.oracle.xnnpack import xnnpack_outputs as xnnpack_outputs
