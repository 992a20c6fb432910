"""Operators as functions for one instruction set, chosen by what the target can do.

Importing this package registers every kernel in ``KERNELS``.
"""

# ruff: noqa: F401 (rules register themselves)
from __future__ import annotations

from legalize.kernels.conv2d.arm import rules as _conv2d_arm
from legalize.kernels.conv2d.x86 import border_rules as _border
from legalize.kernels.conv2d.x86 import part_rules as _part
from legalize.kernels.conv2d.x86 import rules as _conv2d_x86
from legalize.kernels.conv2d.x86 import sum_rules as _sum
from legalize.kernels.convert import rules as _convert
from legalize.kernels.depthwise.arm import rules as _depthwise_arm
from legalize.kernels.depthwise.x86 import rules as _depthwise_x86
from legalize.kernels.elementwise import rules as _elementwise
from legalize.kernels.isa.neon_vectors import VECTORS as _NEON_VECTORS
from legalize.kernels.isa.x86_vectors import VECTORS as _X86_VECTORS
from legalize.kernels.join import rules as _join
from legalize.kernels.mean import rules as _mean
from legalize.kernels.pad import rules as _pad
from legalize.kernels.pool import rules as _pool
from legalize.kernels.resize import rules as _resize
from legalize.kernels.softmax import rules as _softmax
from legalize.kernels.table import KERNELS
from legalize.kernels.vector_table import register_vectors

for _isa in (*_X86_VECTORS, *_NEON_VECTORS):
    register_vectors(_isa)

__all__ = ["KERNELS"]
