"""Kernels for x86: importing this package registers the rules that use them."""

from __future__ import annotations

from legalize.kernels.vector import register_vectors
from legalize.kernels.x86 import depthwise_rules, rules
from legalize.kernels.x86.vector_isa import VECTORS

for _isa in VECTORS:
    register_vectors(_isa)

__all__ = ["depthwise_rules", "rules"]
