"""The calls of LiteRT's interpreter, for programs that were written for it.

Change the import line and keep the rest::

    from tvm_qnn.litert import Interpreter              # was: from tflite_runtime.interpreter …
    from tvm_qnn.litert.interpreter import Interpreter  # was: from ai_edge_litert.interpreter …
    import tvm_qnn.litert as tflite                     # was: import tflite_runtime.interpreter …

The model is compiled in ``allocate_tensors``. Its integers are those of LiteRT's reference kernels.
"""

from types import SimpleNamespace

from tvm_qnn.litert import interpreter
from tvm_qnn.litert.delegates import Delegate, load_delegate
from tvm_qnn.litert.interpreter import Interpreter, InterpreterWithCustomOps, OpResolverType
from tvm_qnn.litert.signatures import SignatureRunner

experimental = SimpleNamespace(load_delegate=load_delegate, OpResolverType=OpResolverType)
"""``tf.lite.experimental``, as far as programs use it."""

__all__ = [
    "Delegate",
    "Interpreter",
    "InterpreterWithCustomOps",
    "OpResolverType",
    "SignatureRunner",
    "experimental",
    "interpreter",
    "load_delegate",
]
