"""tvm-qnn: models quantized in their own framework, as integer code on Apache TVM.

Importing this package does not import TVM; it is imported when something needs it. TVMScript knows
the dialect's operators, ``R.qnn``, once a model was imported or built, or after an import of any
operator, such as ``from qnn_ops import quantize``.
"""

from typing import TYPE_CHECKING

from qnn_ops.lazy import make_lazy

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
    from qnn_ops.errors import QnnError as QnnError
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
    from tvm_qnn.version import __version__ as __version__

# With ``legalize`` imported, TVM's own passes know how to lower an imported model.
make_lazy(
    __name__,
    lambda name, home: ("legalize",) if home == "qnn_ops" or name.startswith("from_") else (),
)
