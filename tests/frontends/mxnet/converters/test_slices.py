"""Operators that take parts of a tensor, look rows up, or keep the newest slices of a stream."""

from __future__ import annotations

import numpy as np
import pytest

from frontends.errors import UnsupportedOperatorError
from qnn_ops.errors import QnnError
from tests.support.mxnet_float import check_family, convert
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


def test_what_mxnet_computes() -> None:
    check_family("slices")


@pytest.mark.parametrize(
    ("op", "attrs", "message"),
    [
        ("slice", {"begin": "(0, 1)", "end": "(1,)"}, "must be as many"),
        ("slice", {"begin": "(0,)", "end": "(1,)", "step": "(0,)"}, "no step 0"),
        ("slice", {"begin": "(0, 0, 0, 0)", "end": "(1, 1, 1, 1)"}, "for 3 axes"),
        ("slice", {"begin": "(1,)", "end": "(1,)"}, "nothing is left"),
        ("slice_axis", {"axis": "1", "begin": "3", "end": "None"}, "nothing is left"),
        ("slice_axis", {"axis": "3", "begin": "0", "end": "1"}, "axis 3 is outside"),
        ("slice_like", {"axes": "(1,)"}, "has no part as large"),
        ("SliceChannel", {"num_outputs": "2"}, "2 outputs do not divide the 3 of axis 1"),
        ("SliceChannel", {"num_outputs": "0"}, "0 outputs do not divide"),
        ("SliceChannel", {"num_outputs": "1", "squeeze_axis": "1"}, "parts of size 1"),
    ],
)
def test_attributes_that_do_not_fit_are_named(op: str, attrs: dict[str, str], message: str) -> None:
    with pytest.raises(QnnError, match=rf"{op} 'made': .*{message}"):
        convert(op, (2, 3, 4), (2, 5, 4), **attrs)


def test_what_mxnet_computes_of_embedding() -> None:
    check_family("embedding")


def test_what_does_not_fit_is_named() -> None:
    with pytest.raises(QnnError, match=r"weight must have shape \(5, 3\), got \(4, 3\)"):
        convert("Embedding", (2,), np.ones((4, 3), np.float32), input_dim="5", output_dim="3")
    with pytest.raises(QnnError, match="axis 2 is outside"):
        convert("take", (4, 3), (2,), axis="2")
    with pytest.raises(UnsupportedOperatorError, match="only mode clip"):
        convert("take", (4, 3), (2,), mode="wrap")
