"""``relay.qnn``."""

from __future__ import annotations

from tvm_qnn.relay.qnn import op

__all__ = ["op"]
