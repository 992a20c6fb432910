"""Kernels for ARM: importing this package registers the rules that use them."""

from __future__ import annotations

from legalize.kernels.arm import rules

__all__ = ["rules"]
