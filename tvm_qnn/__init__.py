"""tvm-qnn: models quantized in their own framework, as integer code on Apache TVM."""

from __future__ import annotations

from frontends.tflite import QuantizedFallbackWarning, from_tflite
from qnn_ops.errors import QnnError
from tvm_qnn.build import build, host_target
from tvm_qnn.compare import Comparison, compare
from tvm_qnn.library import Library, Timing, load

__all__ = [
    "Comparison",
    "Library",
    "QnnError",
    "QuantizedFallbackWarning",
    "Timing",
    "build",
    "compare",
    "from_tflite",
    "host_target",
    "load",
]
