"""MEAN, pools, SOFTMAX and resizing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from tvm_qnn.zoo import float_ops
from tvm_qnn.zoo.file import Array, File, Shape, Tensor
from tvm_qnn.zoo.float_run import FloatRun
from tvm_qnn.zoo.graph import Operator
from tvm_qnn.zoo.operators.convolutions import window_shape


@dataclass(frozen=True)
class Mean(Operator):
    """The mean over some axes, for pictures over height and width.

    Attributes:
        axes: those that are averaged.
        keep_dims: whether they remain, with an extent of 1.
    """

    axes: tuple[int, ...] = (1, 2)
    keep_dims: bool = False

    code = "MEAN"

    def shapes(self, *shapes: Shape) -> list[Shape]:
        """Return that of the output."""
        extents = enumerate(shapes[0])
        if self.keep_dims:
            return [tuple(1 if axis in self.axes else n for axis, n in extents)]
        return [tuple(n for axis, n in extents if axis not in self.axes)]

    def compute(self, run: FloatRun, *arrays: Array) -> list[Array]:
        """Average."""
        return [arrays[0].mean(self.axes, keepdims=self.keep_dims)]

    def constants(self, file: File, inputs: Sequence[Tensor]) -> list[int]:
        """Write the axes."""
        return [file.constant("axes", np.array(self.axes, np.int32))]

    def options(self) -> dict[str, Any]:
        """Return whether axes remain."""
        return {"keep_dims": self.keep_dims}


@dataclass(frozen=True)
class _Pool(Operator):
    """A pooling of [N, H, W, C].

    Attributes:
        size: of the windows, in both directions.
        stride: in both directions.
        padding: "SAME" or "VALID".
    """

    size: int
    stride: int
    padding: str = "VALID"

    same_scale = True
    pool: ClassVar[Callable[..., float_ops.Real]]

    def shapes(self, *shapes: Shape) -> list[Shape]:
        """Return that of the output."""
        kernel = (self.size, self.size)
        return [window_shape(shapes[0], kernel, self.stride, self.padding, shapes[0][3])]

    def compute(self, run: FloatRun, *arrays: Array) -> list[Array]:
        """Pool."""
        return [type(self).pool(arrays[0], self.size, self.stride, self.padding)]

    def options(self) -> dict[str, Any]:
        """Return padding, strides and size."""
        return {
            "padding": self.padding,
            "stride_w": self.stride,
            "stride_h": self.stride,
            "filter_width": self.size,
            "filter_height": self.size,
        }


class MaxPool(_Pool):
    """The largest value of each window."""

    code = "MAX_POOL_2D"
    pool = float_ops.max_pool2d


class AvgPool(_Pool):
    """The mean of each window; taps outside of the picture do not count."""

    code = "AVERAGE_POOL_2D"
    pool = float_ops.avg_pool2d


class Softmax(Operator):
    """Probabilities along the last axis."""

    code = "SOFTMAX"
    lowest = 0.0

    def shapes(self, *shapes: Shape) -> list[Shape]:
        """Return that of the output."""
        return [shapes[0]]

    def compute(self, run: FloatRun, *arrays: Array) -> list[Array]:
        """Compute the probabilities."""
        powers = np.exp(arrays[0] - arrays[0].max(-1, keepdims=True))
        return [powers / powers.sum(-1, keepdims=True)]

    def options(self) -> dict[str, Any]:
        """Return the factor of the logits."""
        return {"beta": 1.0}


class _Resize(Operator):
    same_scale = True

    def shapes(self, *shapes: Shape) -> list[Shape]:
        """Return that of the output."""
        batch, height, width, channels = shapes[0]
        return [(batch, 2 * height, 2 * width, channels)]

    def constants(self, file: File, inputs: Sequence[Tensor]) -> list[int]:
        """Write the size."""
        _, height, width, _ = inputs[0].shape
        return [file.constant("size", np.array([2 * height, 2 * width], np.int32))]

    def options(self) -> dict[str, Any]:
        """Return that pixels are squares, not points at their corners."""
        return {"half_pixel_centers": True}


class ResizeNearest(_Resize):
    """Each pixel four times."""

    code = "RESIZE_NEAREST_NEIGHBOR"

    def compute(self, run: FloatRun, *arrays: Array) -> list[Array]:
        """Repeat."""
        return [arrays[0].repeat(2, 1).repeat(2, 2)]


class ResizeBilinear(_Resize):
    """Pixels between those that are given, mixed of the nearest four."""

    code = "RESIZE_BILINEAR"

    def compute(self, run: FloatRun, *arrays: Array) -> list[Array]:
        """Mix 3 parts of the nearer pixel with 1 of the other, on each axis."""
        y = arrays[0]
        for axis in (1, 2):
            last = y.shape[axis] - 1
            places = np.arange(last + 1)
            before = y.take(np.maximum(places - 1, 0), axis)
            after = y.take(np.minimum(places + 1, last), axis)
            mixed = np.stack([0.75 * y + 0.25 * before, 0.75 * y + 0.25 * after], axis + 1)
            shape = (*y.shape[:axis], 2 * y.shape[axis], *y.shape[axis + 1 :])
            y = mixed.reshape(shape)
        return [y]
