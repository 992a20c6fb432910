from __future__ import annotations

import numpy as np

from qnn_ops.heaps import first_in_order, pop, push


def test_different_values_are_sorted() -> None:
    values = np.random.default_rng(0).permutation(40)
    for count in (1, 2, 17, 40):
        found = first_in_order(values, count)
        assert [values[place] for place in found] == list(range(39, 39 - count, -1))


def test_equal_values_come_in_the_order_of_the_heap() -> None:
    # As std::partial_sort of libstdc++ orders them.
    assert first_in_order(np.zeros(6), 1) == [0]
    assert sorted(first_in_order(np.zeros(6), 6)) == [0, 1, 2, 3, 4, 5]
    assert first_in_order(np.zeros(6), 4) == [1, 3, 0, 2]


def test_a_queue_gives_the_largest_first() -> None:
    values = [3, 1, 4, 1, 5, 9, 2, 6]
    heap: list[int] = []
    for place in range(len(values)):
        push(heap, place, lambda a, b: values[a] < values[b])
    found = [values[pop(heap, lambda a, b: values[a] < values[b])] for _ in values]
    assert found == sorted(values, reverse=True)
