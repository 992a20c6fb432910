"""The order of equal elements in the heaps of libstdc++, with which LiteRT is built.

Source: bits/stl_heap.h and bits/stl_algo.h of GCC. A heap is a list in which each element's
children, at twice its place plus one and two, do not come before it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
Before = Callable[[int, int], bool]
"""Whether the first element is to be farther from the top of the heap than the second."""


def first_in_order(values: Array, count: int) -> list[int]:
    """Return the places of the largest values, in falling order: std::partial_sort."""
    if count == 1:
        return [int(np.argmax(values))]
    places = list(range(len(values)))

    def before(one: int, other: int) -> bool:
        return bool(values[one] > values[other])

    for parent in reversed(range(count // 2)):
        sift(places, parent, count, places[parent], before)
    for each in range(count, len(places)):
        if before(places[each], places[0]):
            value, places[each] = places[each], places[0]
            sift(places, 0, count, value, before)
    for last in reversed(range(1, count)):
        value, places[last] = places[last], places[0]
        sift(places, 0, last, value, before)
    return places[:count]


def push(heap: list[int], value: int, before: Before) -> None:
    """Add an element: std::push_heap."""
    heap.append(value)
    rise(heap, len(heap) - 1, 0, value, before)


def pop(heap: list[int], before: Before) -> int:
    """Take the top element off: std::pop_heap."""
    top, value = heap[0], heap.pop()
    if heap:
        sift(heap, 0, len(heap), value, before)
    return top


def sift(heap: list[int], hole: int, size: int, value: int, before: Before) -> None:
    """Put an element into the heap that begins with a hole: std::__adjust_heap."""
    top, child = hole, hole
    while child < (size - 1) // 2:
        child = 2 * child + 2
        if before(heap[child], heap[child - 1]):
            child -= 1
        heap[hole] = heap[child]
        hole = child
    if size % 2 == 0 and child == (size - 2) // 2:
        child = 2 * child + 1
        heap[hole] = heap[child]
        hole = child
    rise(heap, hole, top, value, before)


def rise(heap: list[int], hole: int, top: int, value: int, before: Before) -> None:
    """Let an element rise from a hole, not above ``top``: std::__push_heap."""
    while hole > top and before(heap[(hole - 1) // 2], value):
        heap[hole] = heap[(hole - 1) // 2]
        hole = (hole - 1) // 2
    heap[hole] = value
