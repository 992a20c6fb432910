"""Kernels in terms of vectors, for every architecture that tells how its vectors work."""

from __future__ import annotations

from legalize.kernels.vector import (
    join_rules,
    mean_rules,
    pad_rules,
    pair_rules,
    pool_rules,
    real_rules,
    resize_rules,
    softmax_rules,
)
from legalize.kernels.vector.isa import VectorIsa
from legalize.kernels.vector.registry import register_vectors

__all__ = [
    "VectorIsa",
    "join_rules",
    "mean_rules",
    "pad_rules",
    "pair_rules",
    "pool_rules",
    "real_rules",
    "register_vectors",
    "resize_rules",
    "softmax_rules",
]
