"""The table of own rules."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tvm import relax

Operands = Sequence["relax.Expr | None"]
Converter = Callable[[relax.BlockBuilder, Operands, dict[str, Any]], relax.Expr]
"""``rule(builder, operands, attributes)`` gives the result; a tuple if there are several."""

CONVERTERS: dict[str, Converter] = {}
"""By the name of the operator."""


def converter(name: str) -> Callable[[Converter], Converter]:
    """Register the rule of an operator."""

    def decorate(rule: Converter) -> Converter:
        CONVERTERS[name] = rule
        return rule

    return decorate


def operands_of(operands: Operands, count: int) -> list[Any]:
    """Return so many operands, None for those that are not there."""
    return [*operands, *[None] * count][:count]
