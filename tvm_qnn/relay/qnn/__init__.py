"""``relay.qnn``: its operators. TVM had them in ``relay.qnn.op`` until 0.14, and here since."""

from __future__ import annotations

from tvm_qnn.relay.qnn import op, transform
from tvm_qnn.relay.qnn.op import *  # noqa: F403 (the module lists what it gives)

__all__ = ["op", "transform", *op.__all__]
