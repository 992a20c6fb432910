"""MaxPool, AveragePool and GlobalAveragePool."""

from __future__ import annotations

import numpy as np
import pytest

from frontends.onnx import from_onnx
from tests.support.onnx_graphs import Net
from tvm_qnn import build

SHAPES = [
    *((1, 32, 7, 7), (2, 16, 13, 9), (1, 33, 7, 7), (2, 5, 10, 10), (3, 20, 9, 5)),
    *((1, 16, 21), (1, 6, 3), (1, 16, 3, 5, 7), (2, 3, 1, 1), (1, 7, 1, 2)),
]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_every_bit_is_onnx_runtimes(shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(5)
    data = rng.normal(1, 3, shape).astype(np.float32)
    channels, ones = shape[1], [1] * len(shape[2:])
    weights = rng.normal(1, 3, (channels, 1, *ones)).astype(np.float32)
    nodes = [
        *(("Abs", "x", "a"), ("Conv", "x w", "c", {"group": channels}), ("Relu", "c", "r")),
        *(("GlobalAveragePool", name, f"mean_{name}") for name in "xar"),
    ]
    Net(nodes, {"x": data}, {"w": weights}).check(primitives=True, in_float=True)


@pytest.mark.parametrize("channels", [16, 20])
def test_averages_of_an_open_batch(channels: int) -> None:
    rng = np.random.default_rng(7)
    data = rng.normal(1, 3, (3, channels, 5, 3)).astype(np.float32)
    weights = rng.normal(1, 3, (channels, channels, 1, 1)).astype(np.float32)
    nodes = [("Conv", "x w", "c"), ("GlobalAveragePool", "c", "y")]
    net = Net(nodes, {"x": data}, {"w": weights})
    shape = (range(1, 9), *data.shape[1:])
    library = build(from_onnx(net.model, {"x": shape})[0], "host")
    np.testing.assert_array_equal(library.run(data), net.theirs()[0])
