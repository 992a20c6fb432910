"""Heaps as loops, with the order of ``qnn_ops.boxes``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tvm.script.ir_builder import tirx as T

from legalize.primitives.loops import cell, put

Before = Callable[[Any, Any], Any]
"""Gives the condition that the first element is to be farther from the top than the second."""


def write_first_in_order(heap: Any, size: int, count: int, before: Before) -> None:
    """Write into the first ``count`` places the best of the numbers below ``size``, in order.

    Args:
        heap: int32, [size]; it need hold nothing.
        size: how many numbers there are.
        count: how many are wanted, at least 2.
        before: whether the first comes before the second.
    """
    with T.serial(size) as i:
        put(heap, i, i)
    with T.serial(count // 2) as i:
        parent = count // 2 - 1 - i
        write_sift(heap, parent, count, heap[parent], before)
    with T.serial(size - count) as i, T.If(before(heap[count + i], heap[0])), T.Then():
        value = cell("int32", heap[count + i])
        put(heap, heap[0], count + i)
        write_sift(heap, 0, count, value[0], before)
    with T.serial(count - 1) as i:
        last = count - 1 - i
        value = cell("int32", heap[last])
        put(heap, heap[0], last)
        write_sift(heap, 0, last, value[0], before)


def write_push(heap: Any, size: Any, element: Any, before: Before) -> None:
    """Add an element to a heap and one to its size, which is a cell."""
    write_rise(heap, cell("int32", size[0]), 0, cell("int32", element), before)
    put(size, size[0] + 1)


def write_pop(heap: Any, size: Any, before: Before) -> Any:
    """Take the top element off a heap, and one off its size; return the cell that holds it."""
    top = cell("int32", heap[0])
    put(size, size[0] - 1)
    with T.If(size[0] > 0), T.Then():
        write_sift(heap, 0, size[0], heap[size[0]], before)
    return top


def write_sift(heap: Any, start: Any, size: Any, element: Any, before: Before) -> None:
    """Put an element into the heap that begins with a hole."""
    value, hole, child = cell("int32", element), cell("int32", start), cell("int32", start)
    first = cell("int32", start)
    with T.While(child[0] < T.truncdiv(size - 1, 2)):
        put(child, 2 * child[0] + 2)
        with T.If(before(heap[child[0]], heap[child[0] - 1])), T.Then():
            put(child, child[0] - 1)
        put(heap, heap[child[0]], hole[0])
        put(hole, child[0])
    has_one = T.And(T.truncmod(size, 2) == 0, child[0] == T.truncdiv(size - 2, 2))
    with T.If(has_one), T.Then():
        put(child, 2 * child[0] + 1)
        put(heap, heap[child[0]], hole[0])
        put(hole, child[0])
    write_rise(heap, hole, first[0], value, before)


def write_rise(heap: Any, hole: Any, top: Any, value: Any, before: Before) -> None:
    """Let an element, which is a cell, rise from a hole, not above ``top``."""
    goes_on = cell("int32", 1)
    with T.While(T.And(goes_on[0] == 1, hole[0] > top)):
        parent = T.truncdiv(hole[0] - 1, 2)
        with T.If(before(heap[parent], value[0])):
            with T.Then():
                put(heap, heap[parent], hole[0])
                put(hole, parent)
            with T.Else():
                put(goes_on, 0)
    put(heap, value[0], hole[0])
