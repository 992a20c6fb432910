"""MaxPool, AveragePool and GlobalAveragePool."""

from typing import Any

import numpy as np
import pytest

from frontends.onnx import from_onnx
from tests.support.onnx_graphs import Net, Node, each, equal, near
from tvm_qnn import build

SHAPES = [
    *((1, 32, 7, 7), (2, 16, 13, 9), (1, 33, 7, 7), (2, 5, 10, 10), (3, 20, 9, 5)),
    *((1, 16, 21), (1, 6, 3), (1, 16, 3, 5, 7), (2, 3, 1, 1), (1, 7, 1, 2)),
]


def averages(shape: tuple[int, ...]) -> Net:
    rng = np.random.default_rng(5)
    data = rng.normal(1, 3, shape).astype(np.float32)
    channels, ones = shape[1], [1] * len(shape[2:])
    weights = rng.normal(1, 3, (channels, 1, *ones)).astype(np.float32)
    nodes = [
        *(("Abs", "x", "a"), ("Conv", "x w", "c", {"group": channels}), ("Relu", "c", "r")),
        *(("GlobalAveragePool", name, f"mean_{name}") for name in "xar"),
    ]
    return Net(nodes, {"x": data}, {"w": weights})


test_every_bit_is_onnx_runtimes = equal(each(averages, SHAPES), primitives=True, in_float=True)


PADS = {"pads": [1, 0, 1, 1]}
ROUNDED = {"kernel_shape": [3, 2], "strides": [2, 2], "ceil_mode": 1, **PADS}
IMAGES = {
    "x": (2, 3, 9, 7),
    "row": (2, 3, 9),
    "volume": (1, 16, 3, 2, 3),
    "wide": (1, 1, 3, 2044),
    "large": (1, 1, 36, 36),
    "blocks": (1, 16, 9, 7),
}
WINDOWS: list[tuple[str, dict[str, Any]]] = [
    ("x", {"kernel_shape": [2, 2]}),
    ("x", {"kernel_shape": [3, 4], "strides": [3, 2]}),
    ("x", {"kernel_shape": [3, 4], "strides": [1, 3]}),
    ("x", {"kernel_shape": [3, 3], **PADS}),
    ("x", {"kernel_shape": [3, 3], "count_include_pad": 1, **PADS}),
    ("x", ROUNDED),
    ("x", {"count_include_pad": 1, **ROUNDED}),
    *((name, {"kernel_shape": [*IMAGES[name][2:]]}) for name in ("x", "row", "volume", "blocks")),
    *(
        (name, {"kernel_shape": [*IMAGES[name][2:]], "strides": [stride] * len(IMAGES[name][2:])})
        for name in ("x", "row", "blocks")
        for stride in (2, 7)
    ),
    ("volume", {"kernel_shape": [3, 2, 3], "strides": [7, 7, 7]}),
    *(("large", {"kernel_shape": sides}) for sides in ([32, 32], [33, 3], [3, 33], [33, 33])),
    ("wide", {"kernel_shape": [3, 3], "pads": [0, 0, 0, 1]}),
    ("wide", {"kernel_shape": [3, 3], "pads": [0, 1, 0, 1]}),
    ("blocks", {"kernel_shape": [3, 3], **PADS}),
]


@pytest.mark.parametrize("opset", [17, 19])
def test_windows_are_added_up_as_in_onnx_runtime(opset: int) -> None:
    rng = np.random.default_rng(8)
    data = {name: rng.normal(1, 3, shape).astype(np.float32) for name, shape in IMAGES.items()}
    nodes = [
        ("AveragePool", name, f"y{number}", attributes)
        for number, (name, attributes) in enumerate(WINDOWS)
    ]
    Net(nodes, data, opset=opset).check(primitives=True, in_float=True)


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


RNG = np.random.default_rng(3)
AVERAGED = {"row": (2, 3, 8), "image": (1, 3, 8, 7), "volume": (1, 2, 4, 5, 6)}
ENCODING = {"s": np.float32(0.031), "t": np.float32(0.023)}


def windows(name: str, kind: str, pads: int, counts: int) -> Net:
    # ONNX Runtime's float operator does not count what lies there; its integer one does.
    shape = AVERAGED[name]
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
test_windows_beyond_the_padding = equal(each(windows, AVERAGED, ("uint8", "int8"), *BITS))
# The sum of an average of floats may have another order.
test_float_windows_beyond_the_padding = near(
    each(windows, AVERAGED, ("float", "dequantized"), *BITS), atol=2e-6
)
