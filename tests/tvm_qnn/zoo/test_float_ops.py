"""The float32 layers, against LiteRT's float32 operators."""

from typing import Any

import numpy as np
import pytest

from frontends.tflite.writer import ModelWriter
from qnn_ops.errors import QnnError
from tvm_qnn.oracle import litert_tensors
from tvm_qnn.zoo import float_ops

# (height, width), kernel, stride, padding
WINDOWS = [
    ((9, 8), (3, 3), 2, "SAME"),
    ((8, 9), (3, 3), 2, "VALID"),
    ((7, 7), (1, 7), 1, "SAME"),
    ((10, 7), (5, 2), 3, "SAME"),
    ((6, 6), (1, 1), 2, "SAME"),
]
CHANNELS = 5


def run_on_litert(
    code: str, x: np.ndarray, constants: list[np.ndarray], expected: np.ndarray, **options: Any
) -> np.ndarray:
    writer = ModelWriter()
    source = writer.tensor("x", x.shape, "float32")
    others = [writer.tensor("c", c.shape, "float32", data=c) for c in constants]
    y = writer.tensor("y", expected.shape, "float32")
    writer.operator(code, [source, *others], [y], **options)
    return litert_tensors(writer.finish([source], [y]), [x])[y]


def batch(extents: tuple[int, int]) -> np.ndarray:
    return np.random.default_rng(0).standard_normal((2, *extents, CHANNELS), np.float32)


@pytest.mark.parametrize(("extents", "kernel", "stride", "padding"), WINDOWS)
def test_convolutions(
    extents: tuple[int, int], kernel: tuple[int, int], stride: int, padding: str
) -> None:
    x = batch(extents)
    rng = np.random.default_rng(1)
    full = rng.standard_normal((*kernel, CHANNELS, 3), np.float32)
    each = rng.standard_normal((*kernel, CHANNELS), np.float32)
    options = {"padding": padding, "stride_h": stride, "stride_w": stride}
    ours = float_ops.conv2d(x, full, stride, padding)
    constants = [full.transpose(3, 0, 1, 2), np.zeros(3, np.float32)]
    theirs = run_on_litert("CONV_2D", x, constants, ours, **options)
    # The order of float32 sums differs.
    np.testing.assert_allclose(ours, theirs, atol=1e-5)
    ours = float_ops.depthwise_conv2d(x, each, stride, padding)
    constants = [each[None], np.zeros(CHANNELS, np.float32)]
    theirs = run_on_litert("DEPTHWISE_CONV_2D", x, constants, ours, depth_multiplier=1, **options)
    np.testing.assert_allclose(ours, theirs, atol=1e-5)


@pytest.mark.parametrize("padding", ["SAME", "VALID"])
@pytest.mark.parametrize("stride", [1, 2])
def test_pools(stride: int, padding: str) -> None:
    x = batch((9, 8))
    options = {"padding": padding, "stride_h": stride, "stride_w": stride}
    options |= {"filter_height": 3, "filter_width": 3}
    ours = float_ops.max_pool2d(x, 3, stride, padding)
    np.testing.assert_array_equal(ours, run_on_litert("MAX_POOL_2D", x, [], ours, **options))
    ours = float_ops.avg_pool2d(x, 3, stride, padding)
    theirs = run_on_litert("AVERAGE_POOL_2D", x, [], ours, **options)
    # The order of float32 sums differs.
    np.testing.assert_allclose(ours, theirs, atol=1e-6)


def test_kernel_that_does_not_fit() -> None:
    with pytest.raises(QnnError, match="a 3-wide kernel meets an extent of 2"):
        float_ops.max_pool2d(batch((2, 2)), 3, 1, "VALID")
