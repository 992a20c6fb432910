"""Tensors that are some bytes of others, and need no copies of their own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from legalize.call_plan import Call, Plan, Temporary
from legalize.image_rows import JOINS, TAKES


def with_parts(plan: Plan, functions: Mapping[str, Any], alignment: int) -> Plan:
    """Return the plan without the copies of bytes between two temporary tensors.

    Args:
        plan: the calls.
        functions: those that they call, by name.
        alignment: of each tensor in bytes; what would begin elsewhere is copied.
    """
    sizes, parts = plan.temporaries, dict(plan.parts)
    calls = []
    for call in plan.calls:
        found = _parts_of(call, functions, sizes)
        is_free = not any(number in parts or start % alignment for number, _, start in found)
        if found and is_free:
            parts |= {number: (home, start) for number, home, start in found}
        else:
            calls.append(call)
    return replace(plan, calls=tuple(calls), parts={n: _home(n, parts) for n in parts})


def _parts_of(
    call: Call, functions: Mapping[str, Any], sizes: Sequence[int]
) -> list[tuple[int, int, int]]:
    """Return which tensors are parts by a call: each one's number, of which one, and from where."""
    attrs = functions[call.function].attrs if call.function else {}
    numbers = [place.number for place in call.arguments if isinstance(place, Temporary)]
    if len(numbers) < len(call.arguments):
        return []
    if TAKES in attrs:
        whole, part = numbers
        return [(part, whole, int(attrs[TAKES]))]
    if JOINS not in attrs or len({*numbers}) < len(numbers):
        return []
    *pieces, whole = numbers
    starts = [sum(sizes[number] for number in pieces[:i]) for i in range(len(pieces))]
    return [(number, whole, start) for number, start in zip(pieces, starts, strict=True)]


def _home(number: int, parts: Mapping[int, tuple[int, int]]) -> tuple[int, int]:
    """Return the tensor that is in no other one, in which one lies, and where."""
    start = 0
    while number in parts:
        number, offset = parts[number]
        start += offset
    return number, start
