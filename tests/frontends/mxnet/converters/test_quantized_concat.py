from __future__ import annotations

import numpy as np
import pytest

from qnn_ops.errors import QnnError
from tests.support.mxnet_graphs import computed, graph_of, imported

NAMES = ["a", "b", "alow", "ahigh", "blow", "bhigh"]
RANGES = {
    "alow": np.float32(-1),
    "ahigh": np.float32(2),
    "blow": np.float32(0.5),
    "bhigh": np.float32(1),
}


@pytest.mark.parametrize("is_known", [True, False])
def test_tensors_of_two_dtypes_become_int8_of_the_covering_range(is_known: bool) -> None:
    a = np.array([[-128, 3, 127]], np.int8)
    b = np.array([[0, 1, 255]], np.uint8)
    graph = graph_of("_contrib_quantized_concat", {"num_args": 2, "dim": 1}, NAMES, outputs=3)
    data = {"a": a, "b": b}
    computed_ends = {} if is_known else {key: value.reshape(1) for key, value in RANGES.items()}
    result, low, high = computed(graph, {**data, **computed_ends}, RANGES if is_known else {})
    factor = (np.float32(127.5) / np.float32(2)) / (np.float32(255.5) / np.float32(1))
    moved = np.rint(b.astype(np.float32) * np.float32(factor)).astype(np.int8)
    np.testing.assert_array_equal(result, np.concatenate([a, moved], axis=1))
    assert (low, high) == (-1, 2)


def test_the_number_of_inputs_is_checked() -> None:
    graph = graph_of("_contrib_quantized_concat", {"num_args": 3}, NAMES)
    data = {"a": np.zeros((1, 3), np.int8), "b": np.zeros((1, 3), np.int8)}
    with pytest.raises(QnnError, match="needs 9 inputs, has 6"):
        imported(graph, data, RANGES)
