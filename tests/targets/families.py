"""A small network with an operator of every family of kernels."""

from typing import Any

import numpy as np

from frontends.tflite.quantization import Quantization
from frontends.tflite.writer import ModelWriter
from tests.support.arrays import full_range

_SIZE, _CHANNELS = 8, 64


class _Network:
    """The network under way: a tensor has one scale, and each layer about the same range."""

    def __init__(self, dtype: str) -> None:
        self.dtype = dtype
        self.rng = np.random.default_rng(3)
        self.writer = ModelWriter()
        self._count = 0
        self._middle = 0 if dtype == "int8" else 128

    def tensor(self, *shape: int, scale: float = 0.05, point: int = 4) -> int:
        self._count += 1
        encoding = Quantization.per_tensor(scale, self._middle + point)
        return self.writer.tensor(f"t{self._count}", shape, self.dtype, encoding)

    def constant(self, values: list[int] | list[list[int]]) -> int:
        self._count += 1
        data = np.array(values, np.int32)
        return self.writer.tensor(f"c{self._count}", data.shape, "int32", None, data)

    def weights(self, *shape: int) -> list[int]:
        self._count += 1
        name, data = str(self._count), full_range(self.rng, self.dtype, shape)
        encoding = Quantization.per_tensor(0.001, self._middle)
        bias = self.rng.integers(-3000, 3000, shape[0] if shape[0] > 1 else shape[-1])
        biases = Quantization.per_tensor(0.001 * 0.05, 0)  # of data whose scale is 0.05
        return [
            self.writer.tensor(f"w{name}", shape, self.dtype, encoding, data),
            self.writer.tensor(f"b{name}", bias.shape, "int32", biases, bias.astype(np.int32)),
        ]

    def add(self, code: str, operands: list[int], into: int, **options: Any) -> int:
        self.writer.operator(code, operands, [into], **options)
        return into

    def content(self) -> bytes:
        n, c = _SIZE, _CHANNELS
        one = {"stride_h": 1, "stride_w": 1, "padding": "SAME"}
        window = {**one, "filter_height": 3, "filter_width": 3}
        x = self.tensor(1, n, n, c)
        conv = self.add("CONV_2D", [x, *self.weights(c, 3, 3, c)], self.tensor(1, n, n, c), **one)
        depthwise = self.add(
            "DEPTHWISE_CONV_2D",
            [conv, *self.weights(1, 3, 3, c)],
            self.tensor(1, n, n, c),
            depth_multiplier=1,
            fused_activation_function="RELU6",
            **one,
        )
        point = self.add(
            "CONV_2D", [depthwise, *self.weights(c, 1, 1, c)], self.tensor(1, n, n, c), **one
        )
        total = self.add("ADD", [point, x], self.tensor(1, n, n, c, scale=0.08))
        largest = self.add("MAX_POOL_2D", [total], self.tensor(1, n, n, c, scale=0.08), **window)
        average = self.add(
            "AVERAGE_POOL_2D", [total], self.tensor(1, n, n, c, scale=0.08), **window
        )
        joined = self.add(
            "CONCATENATION", [largest, average], self.tensor(1, n, n, 2 * c, scale=0.08), axis=3
        )
        smooth = self.add(
            "LOGISTIC", [joined], self.tensor(1, n, n, 2 * c, scale=1 / 256, point=-128)
        )
        product = self.add("MUL", [joined, smooth], self.tensor(1, n, n, 2 * c))
        padded = self.add(
            "PAD",
            [product, self.constant([[0, 0], [1, 1], [1, 1], [0, 0]])],
            self.tensor(1, n + 2, n + 2, 2 * c),
        )
        padded = self.add("RELU", [padded], self.tensor(1, n + 2, n + 2, 2 * c, point=-100))
        smaller = self.add(
            "RESIZE_BILINEAR",
            [padded, self.constant([5, 5])],
            self.tensor(1, 5, 5, 2 * c, point=-100),
        )
        mean = self.add(
            "MEAN",
            [smaller, self.constant([1, 2])],
            self.tensor(1, 2 * c, point=-90),
            keep_dims=False,
        )
        dense = self.add("FULLY_CONNECTED", [mean, *self.weights(40, 2 * c)], self.tensor(1, 40))
        result = self.add(
            "SOFTMAX", [dense], self.tensor(1, 40, scale=1 / 256, point=-128), beta=1.0
        )
        return self.writer.finish([x], [smaller, dense, result])


def every_family(dtype: str) -> bytes:
    """Return the network, as a TFLite file.

    Args:
        dtype: of its activations and weights: "int8" or "uint8".
    """
    return _Network(dtype).content()
