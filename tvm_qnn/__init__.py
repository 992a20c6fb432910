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
    from frontends.mxnet import from_mxnet as from_mxnet
    from frontends.onnx import from_onnx as from_onnx
    from frontends.tflite import NotQuantizedWarning as NotQuantizedWarning
    from frontends.tflite import QuantizedFallbackWarning as QuantizedFallbackWarning
    from frontends.tflite import SignatureWarning as SignatureWarning
    from frontends.tflite import WrappingSumsWarning as WrappingSumsWarning
    from frontends.tflite import WrongInLiteRTWarning as WrongInLiteRTWarning
    from frontends.tflite import from_tflite as from_tflite
    from frontends.torch import from_exported_program as from_exported_program
    from legalize.passes.fold_qdq import fold_qdq as fold_qdq
    from qnn_ops import *  # noqa: F403
    from qnn_ops.errors import LeftInFloatWarning as LeftInFloatWarning
    from tvm_qnn.build import build as build
    from tvm_qnn.compare import Comparison as Comparison
    from tvm_qnn.compare import compare as compare
    from tvm_qnn.library.library import Library as Library
    from tvm_qnn.library.library import load as load
    from tvm_qnn.library.remote import remote as remote
    from tvm_qnn.target.target import host_target as host_target
    from tvm_qnn.target.target import parse_target as parse_target
    from tvm_qnn.text.decoder import Decoder as Decoder
    from tvm_qnn.text.decoder import decoder as decoder
    from tvm_qnn.timing import Timing as Timing

_HOMES = {
    **dict.fromkeys(qnn_ops.__all__, ("legalize", "qnn_ops")),
    "Comparison": ("tvm_qnn.compare",),
    "Decoder": ("tvm_qnn.text.decoder",),
    "LeftInFloatWarning": ("qnn_ops.errors",),
    "Library": ("tvm_qnn.library.library",),
    "NotQuantizedWarning": ("frontends.tflite",),
    "QnnError": ("qnn_ops.errors",),
    "QuantizedFallbackWarning": ("frontends.tflite",),
    "SignatureWarning": ("frontends.tflite",),
    "Timing": ("tvm_qnn.timing",),
    "WrappingSumsWarning": ("frontends.tflite",),
    "WrongInLiteRTWarning": ("frontends.tflite",),
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
}
"""The modules to import for each name that this package offers beside its version."""

__all__ = ["__version__", *_HOMES]

make_lazy(__name__, _HOMES)
