"""Kernels of a model that share values, which TVM computes once."""

import numpy as np
import pytest

from frontends.tflite import from_tflite
from frontends.tflite.quantization import Quantization
from frontends.tflite.writer import ModelWriter
from tvm_qnn import build
from tvm_qnn.target.target import NAMES


def _dense_layers() -> bytes:
    """Two dense layers of 16 → 16 → 4, uint8, whose weights have zero points."""
    rng, writer = np.random.default_rng(0), ModelWriter()
    tensors = [
        writer.tensor(f"x{i}", (1, size), "uint8", Quantization.per_tensor(0.1, 120))
        for i, size in enumerate((16, 16, 4))
    ]
    for i, (shape, zero_point) in enumerate((((16, 16), 168), ((4, 16), 98))):
        data = rng.integers(0, 256, shape).astype(np.uint8)
        steps = Quantization.per_tensor(0.01, zero_point)
        weights = writer.tensor(f"w{i}", shape, "uint8", steps, data)
        writer.operator("FULLY_CONNECTED", [tensors[i], weights], [tensors[i + 1]])
    return writer.finish([tensors[0]], [tensors[2]])


@pytest.mark.parametrize("target", NAMES)
def test_two_dense_layers_with_zero_points_compile(target: str) -> None:
    """TVM takes no constant vector of booleans that two kernels of a function share."""
    mod, params = from_tflite(_dense_layers())
    assert build(mod, target, params)
