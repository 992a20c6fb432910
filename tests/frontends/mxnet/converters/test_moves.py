"""Operators that move elements: to other shapes, into parts, and of streams."""

import numpy as np
import pytest

from frontends.mxnet.converters.moves import new_shape
from tests.support.errors import failing, fails, giving
from tests.support.mxnet_graphs import computed, graph_of, imported

# What MXNet 1.9.1 gives.
test_codes = giving(
    lambda shape, codes, is_reverse: new_shape(shape, codes, is_reverse=is_reverse),
    ((2, 3, 4), (4, 0, 2), False, (4, 3, 2)),
    ((2, 3, 4), (6, 1, -1), False, (6, 1, 4)),
    ((2, 3, 4), (-2,), False, (2, 3, 4)),
    ((2, 3, 4), (0, 0, 0, 1), False, (2, 3, 4, 1)),
    ((2, 3, 4), (-1, -2), False, (2, 3, 4)),
    ((2, 3, 4), (1, 0, -1), False, (1, 3, 8)),
    ((10, 5, 4), (-1, 0), False, (40, 5)),
    ((10, 5, 4), (-1, 0), True, (50, 4)),
    ((2, 3, 4), (-3, 0), True, (6, 4)),
    ((2, 6), (0, 2, -1, -4), True, (2, 2, 3)),
    ((2, 6), (0, -4, -1, 3), False, (2, 2, 3)),
)


@pytest.mark.parametrize(
    ("codes", "message"),
    [
        ((0, 0, 0, 0), "asks for more axes"),
        ((0, 0, -3), "asks for more axes"),
        ((-4, 2), "asks for more axes"),
        ((-1, -1), "does not fit"),
        ((5, -1), "does not fit"),
        ((2, 3), "does not fit"),
        ((-5, 3), "does not fit"),
        ((-4, 3, -1, -2), "cannot be split into 3 and 0"),
        ((-4, -1, -1, -2), "cannot be split"),
    ],
)
@pytest.mark.parametrize("is_reverse", [False])
def test_codes_that_do_not_fit(codes: tuple[int, ...], message: str, is_reverse: bool) -> None:
    fails(message, new_shape, (2, 3, 4), codes, is_reverse=is_reverse)


DATA = np.array([[7, 8]], np.float32)


def test_a_slice_of_no_axes_is_all() -> None:
    (result,) = computed(graph_of("slice", {"begin": (), "end": ()}, ["data"]), {"data": DATA})
    np.testing.assert_array_equal(result, DATA)


BUFFER = np.array([[1, 2, 3, 4, 5]], np.float32)


def test_the_oldest_slices_are_dropped() -> None:
    graph = graph_of("ring_buffer", {"axis": 1}, ["data", "buffer"])
    (result,) = computed(graph, {"data": DATA, "buffer": BUFFER})
    np.testing.assert_array_equal(result, [[3, 4, 5, 7, 8]])


def test_a_quantized_buffer_starts_with_zeros_of_the_datas_dtype() -> None:
    graph = graph_of(
        "_contrib_quantized_ring_buffer", {"axis": -1}, ["data", "buffer", "low", "high"], outputs=3
    )
    constants = {"buffer": BUFFER, "low": np.float32(-2), "high": np.float32(3)}
    data = {"data": DATA.astype(np.int8)}
    result, low, high = computed(graph, data, constants)
    np.testing.assert_array_equal(result, np.array([[0, 0, 0, 7, 8]], np.int8))
    assert (low, high) == (-2, 3)


test_what_does_not_fit = failing(
    lambda axis, shape: imported(
        graph_of("ring_buffer", {"axis": axis}, ["data", "buffer"]),
        {"data": DATA, "buffer": np.zeros(shape, np.float32)},
    ),
    (2, (1, 5), "axis 2 is outside a tensor of 2 dimensions"),
    (1, (2, 5), r"the buffer must have shape \(1, 2\) except for axis 1"),
    (1, (1, 5, 1), r"the buffer must have shape"),
)
