"""Bounds of TIR's integer expressions, for many iterations of loops at once."""

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from tvm import tirx

Array: TypeAlias = "np.ndarray[Any, np.dtype[np.int64]]"
Span: TypeAlias = "tuple[Array, Array] | None"
"""The least and the greatest value, each for every iteration; None if unknown."""

_MOST = 1 << 40  # the greatest value that counts as known: products of two fit well into 64 bits


def exactly(value: int) -> Span:
    """Return the span of a constant."""
    return np.array([value]), np.array([value])


def joined(lhs: Span, rhs: Span) -> Span:
    """Return the span of a value that is one of two."""
    if lhs is None or rhs is None:
        return None
    return np.minimum(lhs[0], rhs[0]), np.maximum(lhs[1], rhs[1])


def combined(operator: type, lhs: Span, rhs: Span) -> Span:
    """Return the span of an operation on two values.

    Args:
        operator: the class of the expression.
        lhs: the first value's span.
        rhs: the second value's.
    """
    rule = _RULES.get(operator)
    if rule is None or lhs is None or rhs is None:
        return None
    span = rule(lhs, rhs)
    if span is None or max(abs(span[0]).max(), abs(span[1]).max()) > _MOST:
        return None
    return span


def negated(value: Span) -> Span:
    """Return the span of a negated condition."""
    return None if value is None else (1 - value[1], 1 - value[0])


_Pair: TypeAlias = "tuple[Array, Array]"


def _product(a: _Pair, b: _Pair) -> Span:
    ends = [x * y for x in a for y in b]
    return np.minimum.reduce(ends), np.maximum.reduce(ends)


def _quotient(a: _Pair, b: _Pair) -> Span:
    if (divisor := _positive(b)) is None:
        return None
    return a[0] // divisor, a[1] // divisor


def _remainder(a: _Pair, b: _Pair) -> Span:
    if (divisor := _positive(b)) is None:
        return None
    wraps = a[0] // divisor != a[1] // divisor
    return np.where(wraps, 0, a[0] % divisor), np.where(wraps, divisor - 1, a[1] % divisor)


def _truncated(rule: Callable[[_Pair, _Pair], Span]) -> Callable[[_Pair, _Pair], Span]:
    """Apply a rule that rounds down to an operator that rounds to zero, if no value is negative."""
    return lambda a, b: rule(a, b) if (a[0] >= 0).all() else None


def _positive(span: _Pair) -> int | None:
    low, high = int(span[0].min()), int(span[1].max())
    return low if low == high > 0 else None


def _condition(always: Any, ever: Any) -> Span:
    return always.astype(np.int64), ever.astype(np.int64)


_RULES: dict[type, Callable[[_Pair, _Pair], Span]] = {
    tirx.Add: lambda a, b: (a[0] + b[0], a[1] + b[1]),
    tirx.Sub: lambda a, b: (a[0] - b[1], a[1] - b[0]),
    tirx.Mul: _product,
    tirx.FloorDiv: _quotient,
    tirx.FloorMod: _remainder,
    tirx.Div: _truncated(_quotient),
    tirx.Mod: _truncated(_remainder),
    tirx.Min: lambda a, b: (np.minimum(a[0], b[0]), np.minimum(a[1], b[1])),
    tirx.Max: lambda a, b: (np.maximum(a[0], b[0]), np.maximum(a[1], b[1])),
    tirx.LT: lambda a, b: _condition(a[1] < b[0], a[0] < b[1]),
    tirx.LE: lambda a, b: _condition(a[1] <= b[0], a[0] <= b[1]),
    tirx.GT: lambda a, b: _condition(a[0] > b[1], a[1] > b[0]),
    tirx.GE: lambda a, b: _condition(a[0] >= b[1], a[1] >= b[0]),
    tirx.EQ: lambda a, b: _condition(
        (a[0] == a[1]) & (b[0] == b[1]) & (a[0] == b[0]), (a[0] <= b[1]) & (b[0] <= a[1])
    ),
    tirx.And: lambda a, b: (a[0] & b[0], a[1] & b[1]),
    tirx.Or: lambda a, b: (a[0] | b[0], a[1] | b[1]),
}
