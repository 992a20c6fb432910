"""``relay.qnn.transform``: passes that rewrote quantized operators, which has no meaning today."""

from __future__ import annotations

from tvm_qnn.relay.unchanged import unchanged

CanonicalizeOps = unchanged("CanonicalizeOps")
Legalize = unchanged("Legalize")
