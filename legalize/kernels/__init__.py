"""Operators as functions for one instruction set, chosen by what the target can do.

Importing this package registers every kernel in ``KERNELS``.
"""

from __future__ import annotations

from legalize.kernels import arm, vector, x86
from legalize.kernels.arm.vector_isa import VECTORS as _NEON_VECTORS
from legalize.kernels.registry import KERNELS
from legalize.kernels.x86.vector_isa import VECTORS as _X86_VECTORS

for _isa in (*_X86_VECTORS, *_NEON_VECTORS):
    vector.register_vectors(_isa)

__all__ = ["KERNELS", "arm", "vector", "x86"]
