"""Operators that take parts of a tensor, look rows up, or keep the newest slices of a stream."""

from __future__ import annotations

import numpy as np
import pytest

from qnn_ops.errors import QnnError
from tests.support.mxnet_graphs import computed, graph_of, imported

DATA = np.array([[7, 8]], np.float32)
BUFFER = np.array([[1, 2, 3, 4, 5]], np.float32)


def test_the_oldest_slices_are_dropped() -> None:
    graph = graph_of("ring_buffer", {"axis": 1}, ["data", "buffer"])
    (result,) = computed(graph, {"data": DATA, "buffer": BUFFER})
    np.testing.assert_array_equal(result, [[3, 4, 5, 7, 8]])


def test_a_quantized_buffer_starts_with_zeros_of_the_datas_dtype() -> None:
    graph = graph_of(
        "_contrib_quantized_ring_buffer",
        {"axis": -1},
        ["data", "buffer", "low", "high"],
        outputs=3,
    )
    constants = {"buffer": BUFFER, "low": np.float32(-2), "high": np.float32(3)}
    data = {"data": DATA.astype(np.int8)}
    result, low, high = computed(graph, data, constants)
    np.testing.assert_array_equal(result, np.array([[0, 0, 0, 7, 8]], np.int8))
    assert (low, high) == (-2, 3)


@pytest.mark.parametrize(
    ("axis", "shape", "message"),
    [
        (2, (1, 5), "axis 2 is outside a tensor of 2 dimensions"),
        (1, (2, 5), r"the buffer must have shape \(1, 2\) except for axis 1"),
        (1, (1, 5, 1), r"the buffer must have shape"),
    ],
)
def test_what_does_not_fit(axis: int, shape: tuple[int, ...], message: str) -> None:
    graph = graph_of("ring_buffer", {"axis": axis}, ["data", "buffer"])
    with pytest.raises(QnnError, match=message):
        imported(graph, {"data": DATA, "buffer": np.zeros(shape, np.float32)})
