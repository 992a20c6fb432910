"""Averages whose last window is rounded up, against ONNX Runtime."""

from typing import Any

import numpy as np
import pytest

from tests.support.onnx_graphs import Net, Node

RNG = np.random.default_rng(3)
SHAPES = {"row": (2, 3, 8), "image": (1, 3, 8, 7), "volume": (1, 2, 4, 5, 6)}
ENCODING = {"s": np.float32(0.031), "t": np.float32(0.023)}


@pytest.mark.parametrize("counts", [0, 1])
@pytest.mark.parametrize("pads", [0, 1])
@pytest.mark.parametrize("kind", ["float", "dequantized", "uint8", "int8"])
@pytest.mark.parametrize("name", SHAPES)
def test_windows_beyond_the_padding(name: str, kind: str, pads: int, counts: int) -> None:
    # ONNX Runtime's float operator does not count what lies there; its integer one does.
    shape = SHAPES[name]
    rank = len(shape) - 2
    attributes: dict[str, Any] = {"kernel_shape": [3] * rank, "strides": [2] * rank}
    attributes |= {"ceil_mode": 1, "pads": [pads] * 2 * rank, "count_include_pad": counts}
    dtype = kind if kind.endswith("int8") else "uint8"
    info = np.iinfo(dtype)
    data = RNG.integers(info.min, info.max + 1, shape).astype(dtype)
    points = {"z": np.asarray(info.min + 117, dtype), "v": np.asarray(info.min + 130, dtype)}
    nodes: list[Node] = [("AveragePool", "x", "y", attributes)]
    # The sum of an average of floats may have another order.
    if kind == "float":
        real = RNG.normal(0, 1, shape).astype(np.float32)
        Net(nodes, {"x": real}).check_near(atol=2e-6)
        return
    nodes.insert(0, ("DequantizeLinear", "q s z", "x"))
    constants = {**ENCODING, **points}
    if kind == "dequantized":
        Net(nodes, {"q": data}, constants).check_near(atol=2e-6)
        return
    nodes.append(("QuantizeLinear", "y t v", "r"))
    Net(nodes, {"q": data}, constants).check()
