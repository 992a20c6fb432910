"""Quantized ONNX networks, made from a seed in either form."""

from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from qnn_ops.arrays import Array
from tests.support.onnx_graphs import MICROSOFT, onnx, proto_of

# Of bytes and of weights, drawn evenly.
_SPREAD = 74.0


@dataclass(frozen=True)
class Style:
    """How a network is quantized.

    Attributes:
        activations: uint8 or int8.
        weights: likewise.
        per_channel: whether weights have a scale for each channel.
        qdq: whether operators stand between DequantizeLinear and QuantizeLinear; else they are
            QLinearConv and its like.
    """

    activations: str
    weights: str
    per_channel: bool
    qdq: bool


@dataclass(frozen=True)
class Tensor:
    """A quantized tensor: its name, shape, and encoding by the names of constants."""

    name: str
    shape: tuple[int, ...]
    scale: float
    encoding: tuple[str, str]


class Network:
    """A network that grows operator by operator."""

    def __init__(self, style: Style, shape: tuple[int, ...], seed: int) -> None:
        self.style = style
        self.rng = np.random.default_rng(seed)
        self.nodes: list[Any] = []
        self.constants: dict[str, Array] = {}
        self.shape = shape
        self.low = int(np.iinfo(style.activations).min)
        self.input = self._quantized("x", shape, 0.02, self.low + 120)

    def constant(self, array: Any) -> str:
        name = f"c{len(self.constants)}"
        self.constants[name] = np.asarray(array)
        return name

    def fresh(self) -> str:
        return f"t{len(self.nodes)}"

    def node(self, op: str, inputs: list[str], **attributes: Any) -> str:
        output = self.fresh()
        domain = "com.microsoft" if op in MICROSOFT else ""
        made = onnx.helper.make_node(op, inputs, [output], domain=domain, **attributes)
        self.nodes.append(made)
        return output

    def encoding(self, scale: float, point: int) -> tuple[str, str]:
        zero_point = np.asarray(point).astype(self.style.activations)
        return self.constant(np.float32(scale)), self.constant(zero_point)

    def _quantized(self, real: str, shape: tuple[int, ...], scale: float, point: int) -> Tensor:
        encoding = self.encoding(scale, point)
        name = self.node("QuantizeLinear", [real, *encoding])
        return Tensor(name, shape, float(np.float32(scale)), encoding)

    def real(self, tensor: Tensor) -> str:
        return self.node("DequantizeLinear", [tensor.name, *tensor.encoding])

    def point(self, relu: bool) -> int:
        return self.low if relu else self.low + int(self.rng.integers(90, 160))

    def weights(self, shape: tuple[int, ...], axis: int) -> tuple[Array, Array, Array]:
        count = shape[axis] if self.style.per_channel else 1
        scales = self.rng.uniform(0.004, 0.012, count).astype(np.float32)
        scales[::2] = np.float32(2.0**-7)  # powers of two, so that ties abound
        low = -127 if self.style.weights == "int8" else 0
        values = self.rng.integers(low, low + 255, shape).astype(self.style.weights)
        points = np.full(count, 0 if self.style.weights == "int8" else 128, self.style.weights)
        if not self.style.per_channel:
            return values, scales.reshape(()), points.reshape(())
        return values, scales, points

    def conv(
        self,
        x: Tensor,
        channels: int,
        size: int = 3,
        stride: int = 1,
        relu: str = "Relu",
        groups: int = 1,
    ) -> Tensor:
        depth = x.shape[1] // groups * size * size
        weights, scales, points = self.weights((channels, x.shape[1] // groups, size, size), 0)
        bias = self.rng.integers(-9000, 9000, channels).astype(np.int32)
        pad = size // 2
        attrs: dict[str, Any] = {
            "strides": [stride] * 2,
            "pads": [pad] * 4,
            "kernel_shape": [size] * 2,
        }
        attrs |= {"group": groups}
        side = [(extent + 2 * pad - size) // stride + 1 for extent in x.shape[2:]]
        shape = (x.shape[0], channels, *side)
        spread = x.scale * float(scales.max()) * _SPREAD**2 * depth**0.5
        scale = 6 / 255 if relu == "Clip" else spread * 5 / 255
        return self._product("Conv", x, (weights, scales, points, bias), attrs, shape, scale, relu)

    def gemm(self, x: Tensor, units: int) -> Tensor:
        weights, scales, points = self.weights((units, x.shape[1]), 0)
        bias = self.rng.integers(-900, 900, units).astype(np.int32)
        spread = x.scale * float(scales.max()) * _SPREAD**2 * x.shape[1] ** 0.5
        constants = (weights, scales, points, bias)
        shape = (x.shape[0], units)
        return self._product("Gemm", x, constants, {"transB": 1}, shape, spread * 5 / 255, "")

    def _product(
        self,
        op: str,
        x: Tensor,
        constants: tuple[Array, Array, Array, Array],
        attrs: dict[str, Any],
        shape: tuple[int, ...],
        scale: float,
        relu: str,
    ) -> Tensor:
        weights, scales, points, bias = constants
        w, sw, zw = (self.constant(array) for array in (weights, scales, points))
        b, point = self.constant(bias), self.point(bool(relu))
        if not self.style.qdq:
            encoding = self.encoding(scale, point)
            operands = [x.name, *x.encoding, w, sw, zw]
            if op == "Conv":
                name = self.node("QLinearConv", [*operands, *encoding, b], **attrs)
            else:
                name = self.node("QGemm", [*operands, b, *encoding], **attrs)
            return Tensor(name, shape, float(np.float32(scale)), encoding)
        real = self.real(x)
        axis = {"axis": 0} if self.style.per_channel else {}
        operands = [real, self.node("DequantizeLinear", [w, sw, zw], **axis)]
        sb = self.constant(np.float32(x.scale) * scales)
        operands.append(self.node("DequantizeLinear", [b, sb], **axis))
        result = self.node(op, operands, **attrs)
        if relu:
            ends = [self.constant(np.float32(end)) for end in (0, 6)] if relu == "Clip" else []
            result = self.node(relu, [result, *ends])
        return self._quantized(result, shape, scale, point)

    def pair(self, op: str, x: Tensor, y: Tensor) -> Tensor:
        scale = (x.scale + y.scale) * 0.8 if op == "Add" else x.scale * y.scale * 100
        point = self.point(False)
        if self.style.qdq:
            result = self.node(op, [self.real(x), self.real(y)])
            return self._quantized(result, x.shape, scale, point)
        encoding = self.encoding(scale, point)
        operands = [x.name, *x.encoding, y.name, *y.encoding, *encoding]
        return self._stored(f"QLinear{op}", operands, x.shape, scale, encoding)

    def concat(self, *parts: Tensor) -> Tensor:
        scale, point = max(part.scale for part in parts), self.point(False)
        channels = sum(part.shape[1] for part in parts)
        shape = (parts[0].shape[0], channels, *parts[0].shape[2:])
        if self.style.qdq:
            result = self.node("Concat", [self.real(part) for part in parts], axis=1)
            return self._quantized(result, shape, scale, point)
        encoding = self.encoding(scale, point)
        operands = [*encoding, *(name for part in parts for name in (part.name, *part.encoding))]
        return self._stored("QLinearConcat", operands, shape, scale, encoding, axis=1)

    def one(self, op: str, x: Tensor, scale: float, **attributes: Any) -> Tensor:
        """Add GlobalAveragePool, Sigmoid, Softmax or LeakyRelu."""
        shape = (*x.shape[:2], 1, 1) if op == "GlobalAveragePool" else x.shape
        point = self.point(op in ("Sigmoid", "Softmax"))
        if self.style.qdq:
            result = self.node(op, [self.real(x)], **attributes)
            return self._quantized(result, shape, scale, point)
        if op == "Softmax":
            attributes["opset"] = 13
        encoding = self.encoding(scale, point)
        operands = [x.name, *x.encoding, *encoding]
        return self._stored(f"QLinear{op}", operands, shape, scale, encoding, **attributes)

    def max_pool(self, x: Tensor) -> Tensor:
        attrs = {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1, 1, 1, 1]}
        shape = (*x.shape[:2], *((extent + 1) // 2 for extent in x.shape[2:]))
        return self._moved("MaxPool", x, shape, **attrs)

    def flatten(self, x: Tensor) -> Tensor:
        return self._moved("Flatten", x, (x.shape[0], prod(x.shape[1:])))

    def _moved(self, op: str, x: Tensor, shape: tuple[int, ...], **attributes: Any) -> Tensor:
        if not self.style.qdq:
            return Tensor(self.node(op, [x.name], **attributes), shape, x.scale, x.encoding)
        result = self.node(op, [self.real(x)], **attributes)
        return Tensor(
            self.node("QuantizeLinear", [result, *x.encoding]), shape, x.scale, x.encoding
        )

    def _stored(
        self,
        op: str,
        operands: list[str],
        shape: tuple[int, ...],
        scale: float,
        encoding: tuple[str, str],
        **attributes: Any,
    ) -> Tensor:
        name = self.node(op, operands, **attributes)
        return Tensor(name, shape, float(np.float32(scale)), encoding)

    def model(self, result: Tensor) -> Any:
        """Return the network that gives ``result``, dequantized."""
        output = self.real(result)
        values = [
            onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, shape)
            for name, shape in (("x", self.shape), (output, result.shape))
        ]
        return proto_of(self.nodes, values[:1], values[1:], self.constants)


def resnet(style: Style, seed: int = 0) -> Any:
    """Residual blocks: tensors with two readers, sums, a pool and a dense layer."""
    net = Network(style, (1, 3, 20, 20), seed)
    x = net.max_pool(net.conv(net.input, 16))
    for channels, stride in ((16, 1), (24, 2)):
        inner = net.conv(net.conv(x, channels, 3, stride), channels, relu="")
        short = x if stride == 1 else net.conv(x, channels, 1, stride, relu="")
        x = net.pair("Add", inner, short)
    x = net.one("GlobalAveragePool", x, x.scale * 0.3)
    x = net.gemm(net.flatten(x), 10)
    return net.model(net.one("Softmax", x, 1 / 256, axis=-1))


def mobilenet(style: Style, seed: int = 1) -> Any:
    """Depthwise convolutions, Clip, and a branch of sigmoid and product."""
    net = Network(style, (2, 3, 17, 17), seed)
    x = net.conv(net.input, 16, 3, 2, relu="Clip")
    inner = net.conv(x, 32, 1, relu="Clip")
    inner = net.conv(inner, 32, 3, 1, relu="Clip", groups=32)
    x = net.pair("Add", net.conv(inner, 16, 1, relu=""), x)
    gate = net.one("Sigmoid", x, 1 / 255)
    x = net.pair("Mul", x, gate)
    x = net.conv(x, 16, 3, 1, relu="", groups=4)
    return net.model(net.one("LeakyRelu", x, x.scale, alpha=0.1))


def googlenet(style: Style, seed: int = 2) -> Any:
    """Branches that are joined."""
    net = Network(style, (1, 3, 18, 18), seed)
    x = net.max_pool(net.conv(net.input, 12, 5))
    for _ in range(2):
        branches = [net.conv(x, 8, 1), net.conv(net.conv(x, 6, 1), 10, 3)]
        branches.append(net.conv(net.conv(x, 4, 1), 6, 5))
        x = net.concat(*branches)
    x = net.one("GlobalAveragePool", x, x.scale * 0.3)
    return net.model(net.gemm(net.flatten(x), 7))


NETWORKS = {"resnet": resnet, "mobilenet": mobilenet, "googlenet": googlenet}
