"""Kernels for x86: importing this package registers the rules that use them."""

from __future__ import annotations

from legalize.kernels.x86 import border_rules, depthwise_rules, part_rules, rules, sum_rules

__all__ = ["border_rules", "depthwise_rules", "part_rules", "rules", "sum_rules"]
