"""Convolution and Deconvolution of floats, and the attributes of windows."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.support.mxnet_float import convert
from tvm_qnn import build

WEIGHT = np.ones((4, 3, 3, 2), np.float32)
ATTRS = {"kernel": "(3, 2)", "num_filter": "4", "no_bias": "True"}


def test_images_with_their_channels_last_take_such_kernels() -> None:
    rng = np.random.default_rng(0)
    data = rng.uniform(-1, 1, (2, 3, 6, 5)).astype(np.float32)
    weight = rng.uniform(-1, 1, WEIGHT.shape).astype(np.float32)
    bias = rng.uniform(-1, 1, 4).astype(np.float32)
    attrs = {**ATTRS, "no_bias": "False", "stride": "(1, 2)", "pad": "(1, 0)"}
    first = build_and_run(convert("Convolution", data.shape, weight, bias, **attrs), data)
    moved = data.transpose(0, 2, 3, 1)
    kernel = weight.transpose(0, 2, 3, 1)
    last = build_and_run(
        convert("Convolution", moved.shape, kernel, bias, layout="NHWC", **attrs), moved
    )
    np.testing.assert_allclose(last.transpose(0, 3, 1, 2), first, rtol=0, atol=1e-6)


def build_and_run(converted: Any, data: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    mod, params = converted
    return np.asarray(build(mod, "llvm", params).run(np.ascontiguousarray(data)))
