"""tvm-qnn: models quantized in their own framework, as integer code on Apache TVM.

Importing this package does not import TVM; it is imported when something needs it. TVMScript knows
the dialect's operators, ``R.qnn``, once a model was imported or built, or after an import of any
operator, such as ``from qnn_ops import quantize``.
"""

from typing import TYPE_CHECKING

import qnn_ops
from qnn_ops.lazy import make_lazy
from tvm_qnn.version import __version__

if TYPE_CHECKING:
    from frontends.mxnet import from_mxnet
    from frontends.onnx import from_onnx
    from frontends.tflite import (
        NotQuantizedWarning,
        QuantizedFallbackWarning,
        SignatureWarning,
        WrappingSumsWarning,
        WrongInLiteRTWarning,
        from_tflite,
    )
    from frontends.torch import from_exported_program
    from legalize.passes.fold_qdq import fold_qdq
    from qnn_ops import *  # noqa: F403
    from qnn_ops.errors import LeftInFloatWarning
    from tvm_qnn.build import build
    from tvm_qnn.compare import Comparison, compare
    from tvm_qnn.library.library import Library, load
    from tvm_qnn.library.remote import remote
    from tvm_qnn.target.target import host_target, parse_target
    from tvm_qnn.text.decoder import Decoder, decoder
    from tvm_qnn.timing import Timing

__all__ = [
    "Comparison",
    "Decoder",
    "LeftInFloatWarning",
    "Library",
    "NotQuantizedWarning",
    "QuantizedFallbackWarning",
    "SignatureWarning",
    "Timing",
    "WrappingSumsWarning",
    "WrongInLiteRTWarning",
    "__version__",
    "build",
    "compare",
    "decoder",
    "fold_qdq",
    "from_exported_program",
    "from_mxnet",
    "from_onnx",
    "from_tflite",
    "host_target",
    "load",
    "parse_target",
    "remote",
]
__all__ += qnn_ops.__all__

make_lazy(
    __name__,
    {
        **dict.fromkeys(qnn_ops.__all__, ("legalize", "qnn_ops")),
        **dict.fromkeys([name for name in __all__ if "Warning" in name], ("frontends.tflite",)),
        "Comparison": ("tvm_qnn.compare",),
        "Decoder": ("tvm_qnn.text.decoder",),
        "LeftInFloatWarning": ("qnn_ops.errors",),
        "Library": ("tvm_qnn.library.library",),
        "QnnError": ("qnn_ops.errors",),
        "Timing": ("tvm_qnn.timing",),
        "build": ("tvm_qnn.build",),
        "compare": ("tvm_qnn.compare",),
        "decoder": ("tvm_qnn.text.decoder",),
        # With ``legalize`` imported, TVM's own passes know how to lower the imported model.
        "from_exported_program": ("legalize", "frontends.torch"),
        "from_mxnet": ("legalize", "frontends.mxnet"),
        "from_onnx": ("legalize", "frontends.onnx"),
        "from_tflite": ("legalize", "frontends.tflite"),
        "fold_qdq": ("legalize.passes.fold_qdq",),
        "host_target": ("tvm_qnn.target.target",),
        "load": ("tvm_qnn.library.library",),
        "parse_target": ("tvm_qnn.target.target",),
        "remote": ("tvm_qnn.library.remote",),
    },
)
