"""Operators as functions for one instruction set, chosen by what the target can do.

Importing this package registers every kernel in ``KERNELS``.
"""

from __future__ import annotations

from legalize.kernels import arm, x86
from legalize.kernels.registry import KERNELS

__all__ = ["KERNELS", "arm", "x86"]
