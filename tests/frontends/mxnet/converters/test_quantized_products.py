"""Convolutions and dense layers that give sums, and where they deviate from their scheme."""

from __future__ import annotations

import numpy as np
import pytest

from qnn_ops.errors import QnnError
from tests.support.mxnet_graphs import computed, graph_of, imported

RNG = np.random.default_rng(1)
NAMES = ["data", "weight", "bias", "low", "high", "wlow", "whigh", "blow", "bhigh"]
RANGES = {
    "low": np.float32(0),
    "high": np.float32(2),
    "wlow": np.float32(-1),
    "whigh": np.float32(0.5),
    "blow": np.float32(-3),
    "bhigh": np.float32(3),
}


def bias_in_steps(bias: np.ndarray) -> np.ndarray:
    steps = np.float32(255.5) / np.float32(2) * (np.float32(127.5) / np.float32(1))
    return np.trunc(bias.astype(np.float32) * (steps * np.float32(3) / np.float32(127.5)))


@pytest.mark.parametrize("semantics", ["mxnet", "corrected"])
def test_a_convolution(semantics: str) -> None:
    data = RNG.integers(0, 256, (1, 3, 4, 4)).astype(np.uint8)
    weight = RNG.integers(-128, 128, (5, 3, 1, 1)).astype(np.int8)
    bias = RNG.integers(-128, 128, 5).astype(np.int8)
    attrs = {"kernel": "(1, 1)", "num_filter": 5}
    graph = graph_of("_contrib_quantized_conv", attrs, NAMES, outputs=3)
    constants = {"weight": weight, "bias": bias, **RANGES}
    sums, low, high = computed(graph, {"data": data}, constants, semantics=semantics)
    plain = np.einsum("nchw,oc->nohw", data.astype(int), weight[:, :, 0, 0].astype(int))
    added = bias_in_steps(bias) if semantics == "corrected" else bias
    np.testing.assert_array_equal(sums, plain + added.reshape(-1, 1, 1))
    first, second = (127, 255) if semantics == "corrected" else (127, 127)
    expected = np.float32(2) / np.float32(first) * (np.float32(1) / np.float32(second))
    assert high == expected * np.float32(2**31) == -low


def test_a_dense_layer() -> None:
    data = RNG.integers(0, 256, (2, 3, 4)).astype(np.uint8)
    weight = RNG.integers(-128, 128, (5, 12)).astype(np.int8)
    bias = RNG.integers(-128, 128, 5).astype(np.int8)
    names = NAMES
    graph = graph_of("_contrib_quantized_fully_connected", {"num_hidden": 5}, names, outputs=3)
    constants = {"weight": weight, "bias": bias, **RANGES}
    sums, low, high = computed(graph, {"data": data}, constants)
    plain = data.reshape(2, 12).astype(int) @ weight.T.astype(int)
    np.testing.assert_array_equal(sums, plain + bias_in_steps(bias))
    expected = np.float32(2) / np.float32(127) * (np.float32(1) / np.float32(255))
    assert high == expected * np.float32(2**31) == -low


def test_weights_must_be_int8_and_fit_the_data() -> None:
    names = ["data", "weight", "low", "high", "wlow", "whigh"]
    graph = graph_of("_contrib_quantized_fully_connected", {"no_bias": "True"}, names)
    data = {"data": np.zeros((2, 12), np.uint8)}
    with pytest.raises(QnnError, match="must be int8, got uint8"):
        imported(graph, data, {"weight": np.zeros((5, 12), np.uint8), **RANGES})
    with pytest.raises(QnnError, match="rows of 12 values, the weight takes 11"):
        imported(graph, data, {"weight": np.zeros((5, 11), np.int8), **RANGES})
