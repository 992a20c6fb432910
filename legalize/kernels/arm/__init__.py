"""Kernels for ARM: importing this package registers the rules that use them."""

from __future__ import annotations

from legalize.kernels.arm import depthwise_rules, rules

__all__ = ["depthwise_rules", "rules"]
