"""tvm-qnn: models quantized in their own framework, as integer code on Apache TVM."""

from __future__ import annotations

from typing import TYPE_CHECKING

from qnn_ops.lazy import make_lazy

if TYPE_CHECKING:
    from frontends.mxnet import from_mxnet
    from frontends.tflite import QuantizedFallbackWarning, from_tflite
    from qnn_ops.errors import QnnError
    from tvm_qnn.build import build
    from tvm_qnn.compare import Comparison, compare
    from tvm_qnn.library import Library, load
    from tvm_qnn.target import host_target
    from tvm_qnn.timing import Timing

__all__ = [
    "Comparison",
    "Library",
    "QnnError",
    "QuantizedFallbackWarning",
    "Timing",
    "build",
    "compare",
    "from_mxnet",
    "from_tflite",
    "host_target",
    "load",
]

make_lazy(
    __name__,
    {
        "Comparison": ("tvm_qnn.compare",),
        "Library": ("tvm_qnn.library",),
        "QnnError": ("qnn_ops.errors",),
        "QuantizedFallbackWarning": ("frontends.tflite",),
        "Timing": ("tvm_qnn.timing",),
        "build": ("tvm_qnn.build",),
        "compare": ("tvm_qnn.compare",),
        # Whatever is done with an imported model, TVM's own passes then know how to lower it.
        "from_mxnet": ("legalize", "frontends.mxnet"),
        "from_tflite": ("legalize", "frontends.tflite"),
        "host_target": ("tvm_qnn.target",),
        "load": ("tvm_qnn.library",),
    },
)
