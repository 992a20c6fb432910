"""Networks whose operators become parts of others' kernels, against LiteRT."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from frontends.tflite import from_tflite
from frontends.tflite.quantization import Quantization
from frontends.tflite.writer import ModelWriter
from tests.support.arrays import full_range
from tvm_qnn import build
from tvm_qnn.oracle import litert_tensors

Array = np.ndarray[Any, Any]

CHANNELS = 24
SHAPE = (1, 7, 9, CHANNELS)


class Network:
    """A residual block and an inception block."""

    def __init__(self, dtype: str) -> None:
        self.dtype = dtype
        self.rng = np.random.default_rng(5)
        self.zero_point = 3 if dtype == "int8" else 131
        self.writer = ModelWriter()
        self.count = 0

    def tensor(self, channels: int, scale: float) -> int:
        self.count += 1
        quantization = Quantization.per_tensor(scale, self.zero_point)
        return self.writer.tensor(
            f"t{self.count}", (*SHAPE[:3], channels), self.dtype, quantization
        )

    def conv(self, data: int, into: int, size: int, scale: float, channels: int = CHANNELS) -> int:
        self.count += 1
        kernel = full_range(self.rng, self.dtype, (channels, size, size, CHANNELS))
        steps = Quantization.per_tensor(0.004, 0 if self.dtype == "int8" else 120)
        bias = self.rng.integers(-3000, 3000, channels).astype(np.int32)
        total = Quantization.per_tensor(0.004 * scale, 0)
        name = f"w{self.count}"
        weights = self.writer.tensor(name, kernel.shape, self.dtype, steps, kernel)
        biases = self.writer.tensor(f"b{self.count}", bias.shape, "int32", total, bias)
        self.writer.operator(
            "CONV_2D", [data, weights, biases], [into], padding="SAME", stride_h=1, stride_w=1
        )
        return into

    def content(self) -> bytes:
        x = self.tensor(CHANNELS, 0.5)
        y = self.conv(x, self.tensor(CHANNELS, 9.5), 3, 0.5)
        total = self.tensor(CHANNELS, 8.0)
        self.writer.operator("ADD", [y, x], [total], fused_activation_function="RELU")
        parts = [
            self.conv(total, self.tensor(channels, 8.0), size, 8.0, channels)
            for channels, size in ((40, 1), (9, 3), (16, 1))
        ]
        joined = self.tensor(40 + 9 + 16, 8.0)
        self.writer.operator("CONCATENATION", parts, [joined], axis=3)
        return self.writer.finish([x], [joined])


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_a_network_equals_litert(dtype: str) -> None:
    content = Network(dtype).content()
    mod, params = from_tflite(content)
    library = build(mod, "host", params)
    data = full_range(np.random.default_rng(1), dtype, SHAPE)
    expected = list(litert_tensors(content, [data]).values())[-1]
    assert np.unique(expected).size > 150
    np.testing.assert_array_equal(library.run(data), expected)
