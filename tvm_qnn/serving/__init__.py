"""Libraries on MLServer: the Open Inference Protocol over HTTP and gRPC.

Importing this package does not import MLServer, which is the extra `serve`.
"""

from typing import TYPE_CHECKING

from qnn_ops.lazy import make_lazy

if TYPE_CHECKING:
    from tvm_qnn.serving.runtime import Runtime
    from tvm_qnn.serving.served import Served

__all__ = ["Runtime", "Served"]

make_lazy(
    __name__, {"Runtime": ("tvm_qnn.serving.runtime",), "Served": ("tvm_qnn.serving.served",)}
)
