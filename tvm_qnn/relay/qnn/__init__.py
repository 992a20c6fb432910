"""``relay.qnn``: its operators; until TVM 0.14 they were in ``relay.qnn.op``, since then here."""

from tvm_qnn.relay.qnn import op, transform
from tvm_qnn.relay.qnn.op import *  # noqa: F403 (the module lists what it gives)

__all__ = ["op", "transform", *op.__all__]  # type: ignore[attr-defined]
