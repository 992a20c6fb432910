from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from frontends.errors import UnsupportedOperatorError
from qnn_ops.float_epilogue import fused_multiply_add_float32
from tests.support.mxnet_graphs import computed, graph_of, imported

NAMES = ["data", "gamma", "beta", "mean", "variance", "low", "high"]
RNG = np.random.default_rng(0)
CONSTANTS: dict[str, Any] = {
    "gamma": RNG.normal(size=3).astype(np.float32),
    "beta": RNG.normal(size=3).astype(np.float32),
    "mean": RNG.normal(size=3).astype(np.float32),
    "variance": RNG.uniform(0.1, 2, 3).astype(np.float32),
    "low": np.float32(-2),
    "high": np.float32(1),
}
CALIBRATED = {"eps": 0.1, "min_calib_range": -3, "max_calib_range": 2}


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_by_hand(dtype: str) -> None:
    info = np.iinfo(dtype)
    data = RNG.integers(info.min, info.max + 1, (2, 3, 5, 5)).astype(dtype)
    graph = graph_of("_contrib_quantized_batch_norm", CALIBRATED, NAMES, outputs=3)
    result, low, high = computed(graph, {"data": data}, CONSTANTS)
    moved = data.astype(np.float32)
    if dtype == "uint8":
        moved = np.rint(moved * (np.float32(127.5) / np.float32(255.5)))
    inverse = (1 / np.sqrt(CONSTANTS["variance"].astype(np.float64) + 0.1)).astype(np.float32)
    scale = CONSTANTS["gamma"] * inverse
    weight = scale * np.float32(2) / np.float32(3) / np.sqrt(np.float32(1) + np.float32(0.1))
    # In MXNet's order: a product more or less rounds otherwise.
    centre = CONSTANTS["beta"] - CONSTANTS["mean"] * CONSTANTS["gamma"] * inverse
    bias = centre * np.float32(127.5) / np.float32(3)
    total = fused_multiply_add_float32(moved, weight.reshape(3, 1, 1), bias.reshape(3, 1, 1))
    np.testing.assert_array_equal(result, np.clip(np.rint(total), -128, 127).astype(np.int8))
    assert (low, high) == (-3, 2)


@pytest.mark.parametrize(
    ("attrs", "reason"),
    [({}, "without a calibrated range"), ({**CALIBRATED, "axis": 3}, "axis 3")],
)
def test_what_is_not_supported(attrs: dict[str, Any], reason: str) -> None:
    graph = graph_of("_contrib_quantized_batch_norm", attrs, NAMES)
    with pytest.raises(UnsupportedOperatorError, match=reason):
        imported(graph, {"data": np.zeros((1, 3, 2, 2), np.int8)}, CONSTANTS)
