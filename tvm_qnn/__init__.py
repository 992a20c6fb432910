"""tvm-qnn: models quantized in their own framework, as integer code on Apache TVM."""

from __future__ import annotations

from qnn_ops.errors import QnnError
from tvm_qnn.build import build, host_target
from tvm_qnn.library import Library, Timing, load

__all__ = ["Library", "QnnError", "Timing", "build", "host_target", "load"]
