"""The calls of LiteRT's interpreter, for programs that were written for it.

Change the import line and keep the rest::

    from tvm_qnn.litert import Interpreter              # was: from tflite_runtime.interpreter …
    from tvm_qnn.litert.interpreter import Interpreter  # was: from ai_edge_litert.interpreter …
    import tvm_qnn.litert as tflite                     # was: import tflite_runtime.interpreter …

The model is compiled in ``allocate_tensors``. Its integers are those of LiteRT's reference kernels.
"""

from types import SimpleNamespace

from qnn_ops.lazy import offer_names
from tvm_qnn.litert import interpreter as interpreter
from tvm_qnn.litert.delegates import Delegate as Delegate
from tvm_qnn.litert.delegates import load_delegate as load_delegate
from tvm_qnn.litert.interpreter import Interpreter as Interpreter
from tvm_qnn.litert.interpreter import InterpreterWithCustomOps as InterpreterWithCustomOps
from tvm_qnn.litert.interpreter import OpResolverType as OpResolverType
from tvm_qnn.litert.signatures import SignatureRunner as SignatureRunner

experimental = SimpleNamespace(load_delegate=load_delegate, OpResolverType=OpResolverType)
"""``tf.lite.experimental``, as far as programs use it."""


offer_names(__name__)
