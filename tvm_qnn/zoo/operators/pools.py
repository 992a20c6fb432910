"""MEAN, pools, SOFTMAX and resizing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tvm_qnn.zoo import float_ops
from tvm_qnn.zoo.file import Array, File, Tensor, TensorType
from tvm_qnn.zoo.float_run import FloatRun
from tvm_qnn.zoo.graph import Operator, plain


def Mean(axes: tuple[int, ...] = (1, 2), keep_dims: bool = False) -> Operator:
    """Return the mean over some axes, for pictures over height and width."""
    write = plain("MEAN", {"keep_dims": keep_dims}, {"axes": axes})
    return Operator(lambda _, x: x.mean(axes, keepdims=keep_dims), write)


def _pool(code: str, pool: Callable[..., Array]) -> Callable[..., Operator]:
    """Return a function that makes pools; size and stride are those of both directions."""

    def make(size: int, stride: int, padding: str = "VALID") -> Operator:
        strides = {"stride_w": stride, "stride_h": stride}
        options = {"padding": padding, **strides, "filter_width": size, "filter_height": size}
        write = plain(code, options, {})
        return Operator(lambda _, x: pool(x, size, stride, padding), write, same_scale=True)

    return make


MaxPool = _pool("MAX_POOL_2D", float_ops.max_pool2d)
AvgPool = _pool("AVERAGE_POOL_2D", float_ops.avg_pool2d)


def Softmax() -> Operator:
    """Return probabilities along the last axis."""

    def compute(_: FloatRun, x: Array) -> Array:
        powers: Array = np.exp(x - x.max(-1, keepdims=True))
        return powers / powers.sum(-1, keepdims=True)

    return Operator(compute, plain("SOFTMAX", {"beta": 1.0}, {}), lowest=0.0)


def _resize(code: str, resize: Callable[[Array], Array]) -> Callable[[], Operator]:
    """Return a function that makes operators of twice the height and width, with square pixels."""

    def write(file: File, inputs: Sequence[Tensor], outputs: Sequence[TensorType]) -> list[Tensor]:
        constants: dict[str, Any] = {"size": outputs[0].shape[1:3]}
        return plain(code, {"half_pixel_centers": True}, constants)(file, inputs, outputs)

    return lambda: Operator(lambda _, x: resize(x), write, same_scale=True)


def _mixed(y: Array) -> Array:
    """Mix 3 parts of the nearer pixel with 1 of the other, on each axis."""
    for axis in (1, 2):
        last = y.shape[axis] - 1
        indices = np.arange(last + 1)
        before = y.take(np.maximum(indices - 1, 0), axis)
        after = y.take(np.minimum(indices + 1, last), axis)
        mixed = np.stack([0.75 * y + 0.25 * before, 0.75 * y + 0.25 * after], axis + 1)
        y = mixed.reshape((*y.shape[:axis], 2 * y.shape[axis], *y.shape[axis + 1 :]))
    return y


ResizeNearest = _resize("RESIZE_NEAREST_NEIGHBOR", lambda x: x.repeat(2, 1).repeat(2, 2))
ResizeBilinear = _resize("RESIZE_BILINEAR", _mixed)
