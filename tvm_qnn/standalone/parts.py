"""Finds tensors that are parts of other tensors' memory, and need no copies."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from legalize.call_plan import Call, Plan, Temporary
from legalize.image_rows import JOINS, TAKES


def with_parts(plan: Plan, functions: Mapping[str, Any], alignment: int) -> Plan:
    """Return the plan without copies from one temporary tensor to a part of another.

    Args:
        plan: the calls.
        functions: the functions by name.
        alignment: of each tensor in bytes; a part that would begin elsewhere is still copied.
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
    """Return the tensors that a call makes parts of others: index, index of the whole, offset."""
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
    """Return the outermost tensor that contains a tensor, and the offset in it."""
    start = 0
    while number in parts:
        number, offset = parts[number]
        start += offset
    return number, start
