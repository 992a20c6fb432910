"""Averages whose last window is rounded up, against ONNX Runtime."""

from typing import Any

import numpy as np

from tests.support.onnx_graphs import Net, Node, each, equal, near

RNG = np.random.default_rng(3)
SHAPES = {"row": (2, 3, 8), "image": (1, 3, 8, 7), "volume": (1, 2, 4, 5, 6)}
ENCODING = {"s": np.float32(0.031), "t": np.float32(0.023)}


def windows(name: str, kind: str, pads: int, counts: int) -> Net:
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
    if kind == "float":
        return Net(nodes, {"x": RNG.normal(0, 1, shape).astype(np.float32)})
    nodes.insert(0, ("DequantizeLinear", "q s z", "x"))
    if kind.endswith("int8"):
        nodes.append(("QuantizeLinear", "y t v", "r"))
    return Net(nodes, {"q": data}, {**ENCODING, **points})


BITS = (0, 1), (0, 1)
test_windows_beyond_the_padding = equal(each(windows, SHAPES, ("uint8", "int8"), *BITS))
# The sum of an average of floats may have another order.
test_float_windows_beyond_the_padding = near(
    each(windows, SHAPES, ("float", "dequantized"), *BITS), atol=2e-6
)
