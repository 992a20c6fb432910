"""Models of programs that use ONNX Runtime, quantized as its tools quantize: see ``programs``."""

from typing import Any

import numpy as np

from tests.support.onnx_graphs import onnx as onnx
from tests.support.onnx_graphs import proto_of
from tests.support.onnx_networks import Network, Style, Tensor

_STYLE = Style("uint8", "uint8", True, True)
"""Products of two unsigned bytes do not saturate on any processor, whatever a session asks for."""


class Program(Network):
    """A network of a program: of several inputs and outputs, with open sizes."""

    def __init__(self, seed: int) -> None:
        super().__init__(_STYLE, (1,), seed)
        self.nodes, self.constants = [], {}
        self.values: list[list[Any]] = [[], []]

    def takes(self, name: str, kind: str, shape: Any) -> str:
        """Add an input."""
        element = getattr(onnx.TensorProto, kind)
        self.values[0].append(onnx.helper.make_tensor_value_info(name, element, shape))
        return name

    def quantized(self, real: str, shape: tuple[int, ...], scale: float = 0.02) -> Tensor:
        """Quantize a tensor of floats."""
        return self._quantized(real, shape, scale, 120)

    def gives(self, name: str, value: str, kind: str = "FLOAT") -> None:
        """Add an output."""
        self.nodes.append(onnx.helper.make_node("Identity", [value], [name]))
        element = getattr(onnx.TensorProto, kind)
        self.values[1].append(onnx.helper.make_tensor_value_info(name, element, None))

    def bytes(self, **told: Any) -> bytes:
        """Return the model."""
        return bytes(self.proto(**told).SerializeToString())

    def proto(self, **told: Any) -> Any:
        """Return the model before it is written."""
        inputs, outputs = self.values
        return proto_of(self.nodes, inputs, outputs, self.constants, **told)

    def picture(self, name: str, size: int, channels: int = 3) -> Tensor:
        """Add a picture as an input, and quantize it."""
        shape = (1, channels, size, size)
        return self.quantized(self.takes(name, "FLOAT", shape), shape)


def classifier(seed: int = 0, **told: Any) -> Any:
    """Return a classifier of pictures of 32 pixels, with ten classes."""
    net = Program(seed)
    x = net.picture("images", 32)
    x = net.conv(net.conv(x, 16, 3, 2), 24, 3, 2)
    x = net.one("GlobalAveragePool", x, x.scale * 0.3)
    net.gives("logits", net.real(net.gemm(net.flatten(x), 10)))
    return net.proto(**told)


def detector() -> bytes:
    """Return a detector: boxes and scores of 64 places, and those that are chosen."""
    net = Program(1)
    x = net.conv(net.picture("images", 32), 16, 3, 2)
    x = net.conv(net.conv(x, 16, 3, 2), 6, 1, relu="")
    flat = net.node("Reshape", [net.real(x), net.constant(np.array([1, 6, 64]))])
    split = net.constant(np.array([4, 2]))
    net.nodes.append(onnx.helper.make_node("Split", [flat, split], ["places", "marks"], axis=1))
    boxes = net.node("Transpose", ["places"], perm=[0, 2, 1])
    scores = net.node("Sigmoid", ["marks"])
    limits = [net.constant(np.array([each], dtype)) for each, dtype in (
        (5, np.int64), (0.4, np.float32), (0.3, np.float32))]  # fmt: skip
    net.gives("boxes", boxes)
    net.gives("scores", scores)
    net.gives("selected", net.node("NonMaxSuppression", [boxes, scores, *limits]), "INT64")
    return net.bytes()


def segmenter() -> bytes:
    """Return a network that gives a class for each pixel."""
    net = Program(2)
    x = net.conv(net.conv(net.picture("images", 24), 16, 3, 2), 5, 1, relu="")
    sizes = net.constant(np.array([1, 1, 2, 2], np.float32))
    wide = net.node("Resize", [net.real(x), "", sizes], mode="nearest")
    net.gives("mask", net.node("ArgMax", [wide], axis=1, keepdims=0), "INT64")
    return net.bytes()


def spotter() -> bytes:
    """Return a spotter of words: 49 spectra of 10 bands, and 12 words."""
    net = Program(3)
    shape = (1, 1, 49, 10)
    x = net.quantized(net.takes("spectrogram", "FLOAT", shape), shape)
    x = net.conv(net.conv(x, 16, 3, 2), 16, 3, 1, groups=16)
    x = net.one("GlobalAveragePool", net.conv(x, 24, 1), 0.01)
    x = net.gemm(net.flatten(x), 12)
    net.gives("probabilities", net.real(net.one("Softmax", x, 1 / 256, axis=-1)))
    return net.bytes()


def transcriber() -> bytes:
    """Return an acoustic model: 40 frames of 8 bands, and for each band scores of 6 letters."""
    net = Program(8)
    shape = (1, 1, 40, 8)
    x = net.quantized(net.takes("frames", "FLOAT", shape), shape)
    net.gives("scores", net.real(net.conv(net.conv(x, 16, 3), 6, 1)))
    return net.bytes()


def reader() -> bytes:
    """Return a classifier of texts of any length: words and a mask, and three classes."""
    net = Program(4)
    words = net.takes("input_ids", "INT64", ["batch", "length"])
    mask = net.takes("attention_mask", "INT64", ["batch", "length"])
    table, _, _ = net.weights((50, 16), 0)
    table_name = net.constant(table)
    rows = net.node("Gather", [table_name, words])
    encoding = [net.constant(np.float32(2**-7)), net.constant(np.uint8(128))]
    real = net.node("DequantizeLinear", [rows, *encoding])
    axes = net.constant(np.array([2]))
    weights = net.node("Cast", [net.node("Unsqueeze", [mask, axes])], to=onnx.TensorProto.FLOAT)
    summed = net.node("ReduceSum", [net.node("Mul", [real, weights]), net.constant(np.array([1]))],
                      keepdims=0)  # fmt: skip
    x = net.quantized(summed, (1, 16), 0.05)
    net.gives("logits", net.real(net.gemm(x, 3)))
    return net.bytes()


def embedder() -> bytes:
    """Return a network of vectors of 24 numbers, of any batch, to vectors of 8."""
    net = Program(5)
    x = net.quantized(net.takes("features", "FLOAT", ["batch", 24]), (1, 24))
    x = net.gemm(net.gemm(x, 32), 8)
    net.gives("embedding", net.real(x))
    return net.bytes()


def mixer() -> bytes:
    """Return a network of a picture and a vector, which gives a score and what was mixed."""
    net = Program(6)
    image = net.one("GlobalAveragePool", net.conv(net.picture("image", 16), 8, 3, 2), 0.02)
    facts = net.quantized(net.takes("facts", "FLOAT", (1, 4)), (1, 4))
    both = net.concat(net.flatten(image), net.gemm(facts, 8))
    net.gives("mixed", net.real(both))
    net.gives("score", net.real(net.gemm(both, 1)))
    return net.bytes()
