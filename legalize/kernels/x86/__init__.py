"""Kernels for x86: importing this package registers the rules that use them."""

from __future__ import annotations

from legalize.kernels.x86 import rules

__all__ = ["rules"]
