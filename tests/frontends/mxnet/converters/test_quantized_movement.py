from __future__ import annotations

import numpy as np
import pytest

from frontends.errors import UnsupportedOperatorError
from tests.support.mxnet_graphs import computed, graph_of, imported

RANGE = {"low": np.float32(-3), "high": np.float32(2)}
NAMES = ["data", "low", "high"]


def test_flatten_keeps_the_first_axis_and_the_range() -> None:
    data = np.arange(12, dtype=np.int8).reshape(2, 3, 2)
    graph = graph_of("_contrib_quantized_flatten", {}, NAMES, outputs=3)
    result, low, high = computed(graph, {"data": data}, RANGE)
    np.testing.assert_array_equal(result, data.reshape(2, 6))
    assert (low, high) == (-3, 2)


def test_a_rectifier_keeps_dtype_and_range() -> None:
    data = np.array([-128, -1, 0, 1, 127], np.int8)
    graph = graph_of("_contrib_quantized_act", {"act_type": "relu"}, NAMES, outputs=3)
    result, low, high = computed(graph, {"data": data}, RANGE)
    np.testing.assert_array_equal(result, np.maximum(data, 0))
    assert (low, high) == (-3, 2)


def test_other_activations_are_not_supported() -> None:
    graph = graph_of("_contrib_quantized_act", {"act_type": "tanh"}, NAMES)
    with pytest.raises(UnsupportedOperatorError, match="act_type tanh"):
        imported(graph, {"data": np.zeros(3, np.int8)}, RANGE)


def test_a_rectifier_of_what_mxnet_misreads_is_not_supported() -> None:
    graph = graph_of("_contrib_quantized_act", {"act_type": "relu"}, NAMES)
    with pytest.raises(UnsupportedOperatorError, match="data of uint8, of which MXNet takes"):
        imported(graph, {"data": np.zeros(3, np.uint8)}, RANGE)
