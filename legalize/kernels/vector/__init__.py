"""Kernels in terms of vectors, for every architecture that tells how its vectors work."""

from __future__ import annotations

from legalize.kernels.vector import (
    join_rules,
    pair_rules,
    pool_rules,
    softmax_rules,
)
from legalize.kernels.vector.isa import VectorIsa
from legalize.kernels.vector.registry import register_vectors

__all__ = [
    "VectorIsa",
    "join_rules",
    "pair_rules",
    "pool_rules",
    "register_vectors",
    "softmax_rules",
]
