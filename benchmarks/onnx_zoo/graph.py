"""A float network in ONNX that grows layer by layer, with weights drawn from a seed."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from onnx import TensorProto, helper, numpy_helper

Array = np.ndarray[Any, Any]

OPSET = 17
INPUT = "image"


@dataclass(frozen=True)
class Value:
    """A tensor.

    Attributes:
        name: its name in the graph.
        channels: its second axis.
    """

    name: str
    channels: int


class Graph:
    """Layers of images [1, channels, height, width]."""

    def __init__(self, size: int, width: float, seed: int = 0) -> None:
        """Begin with a picture.

        Args:
            size: the picture's height and width in pixels.
            width: the factor of published numbers of channels.
            seed: the seed of the weights.
        """
        self.rng = np.random.default_rng(seed)
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self.width = width
        self.image = Value(INPUT, 3)
        self.shape: tuple[int, ...] = (1, 3, size, size)

    def scaled(self, channels: int) -> int:
        """Return the number of channels to build for a published number."""
        return max(4, round(channels * self.width))

    def node(self, op: str, *inputs: str, **attributes: Any) -> str:
        """Add an operator, and return the name of its output."""
        output = f"{op.lower()}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, list(inputs), [output], output, **attributes))
        return output

    def conv(
        self,
        x: Value,
        channels: int,
        size: int = 1,
        stride: int = 1,
        *,
        groups: int = 1,
        pad: int | None = None,
        activation: str = "Relu",
    ) -> Value:
        """Add a convolution.

        Args:
            x: the input.
            channels: channels of the output.
            size: height and width of the kernel.
            stride: the stride in both directions.
            groups: number of groups of channels.
            pad: pixels on each side; by default half of the kernel.
            activation: "Relu", "Relu6", "HardSwish" or "".
        """
        depth = x.channels // groups
        gain = 2.0 if activation else 1.0
        weights = self.rng.standard_normal((channels, depth, size, size), np.float32)
        weights *= np.float32((gain / (depth * size * size)) ** 0.5)
        bias = self.rng.normal(0.1, 0.1, channels).astype(np.float32)
        result = self.node(
            "Conv",
            x.name,
            self._constant(weights),
            self._constant(bias),
            group=groups,
            kernel_shape=[size] * 2,
            pads=[size // 2 if pad is None else pad] * 4,
            strides=[stride] * 2,
        )
        return self._activated(Value(result, channels), activation)

    def depthwise(self, x: Value, size: int, stride: int, activation: str) -> Value:
        """Add a convolution of each channel by itself."""
        return self.conv(x, x.channels, size, stride, groups=x.channels, activation=activation)

    def max_pool(self, x: Value, size: int, stride: int, pads: tuple[int, int]) -> Value:
        """Add a pool, with ``pads`` before and after the rows and the columns."""
        before, after = pads
        attributes = {"kernel_shape": [size] * 2, "strides": [stride] * 2}
        attributes["pads"] = [before, before, after, after]
        return Value(self.node("MaxPool", x.name, **attributes), x.channels)

    def mean(self, x: Value) -> Value:
        """Add a mean over the picture."""
        return Value(self.node("GlobalAveragePool", x.name), x.channels)

    def add(self, x: Value, y: Value, activation: str = "") -> Value:
        """Add a sum."""
        return self._activated(Value(self.node("Add", x.name, y.name), x.channels), activation)

    def gate(self, x: Value, y: Value) -> Value:
        """Multiply by the hard sigmoid of another tensor."""
        gate = self.node("HardSigmoid", y.name, alpha=1 / 6, beta=0.5)
        return Value(self.node("Mul", gate, x.name), x.channels)

    def concat(self, *parts: Value) -> Value:
        """Join channels."""
        names = [part.name for part in parts]
        return Value(self.node("Concat", *names, axis=1), sum(part.channels for part in parts))

    def classify(self, x: Value, classes: int) -> Value:
        """Add a dense layer that reads [1, channels, 1, 1]."""
        weights = self.rng.standard_normal((classes, x.channels), np.float32)
        weights *= np.float32(x.channels**-0.5)
        bias = np.zeros(classes, np.float32)
        flat = self.node("Flatten", x.name)
        constants = (self._constant(weights), self._constant(bias))
        return Value(self.node("Gemm", flat, *constants, transB=1), classes)

    def sequence(self, steps: int, size: int) -> Value:
        """Begin with a sequence instead of a picture, [steps, 1, size]."""
        self.shape = (steps, 1, size)
        return Value(INPUT, size)

    def lstm(self, x: Value, units: int) -> Value:
        """Add an LSTM that reads a sequence in both directions, and join the hidden values."""
        gates, std = 4 * units, units**-0.5
        shapes = {"W": (2, gates, x.channels), "R": (2, gates, units), "B": (2, 2 * gates)}
        weights = [
            self._constant((self.rng.standard_normal(shape) * std).astype(np.float32))
            for shape in shapes.values()
        ]
        result = self.node("LSTM", x.name, *weights, hidden_size=units, direction="bidirectional")
        turned = self.node("Transpose", result, perm=[0, 2, 1, 3])
        shape = self._constant(np.array([self.shape[0], 1, 2 * units], np.int64))
        return Value(self.node("Reshape", turned, shape), 2 * units)

    def last(self, x: Value) -> Value:
        """Take the last step of a sequence: [1, 1, channels]."""
        place = self._constant(np.array([self.shape[0] - 1], np.int64))
        return Value(self.node("Gather", x.name, place, axis=0), x.channels)

    def model(self, result: Value) -> Any:
        """Return the ``ModelProto`` with a result [1, channels]."""
        real = TensorProto.FLOAT
        inputs = [helper.make_tensor_value_info(INPUT, real, self.shape)]
        outputs = [helper.make_tensor_value_info(result.name, real, (1, result.channels))]
        graph = helper.make_graph(self.nodes, "network", inputs, outputs, self.constants)
        opsets = [helper.make_opsetid("", OPSET)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=8)

    def _constant(self, array: Array) -> str:
        name = f"constant_{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(array, name))
        return name

    def _activated(self, x: Value, activation: str) -> Value:
        if not activation:
            return x
        if activation == "HardSwish":
            return self.gate(x, x)
        if activation == "Relu6":
            ends = [self._constant(np.array(end, np.float32)) for end in (0, 6)]
            return Value(self.node("Clip", x.name, *ends), x.channels)
        return Value(self.node(activation, x.name), x.channels)
