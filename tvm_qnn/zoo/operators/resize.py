"""RESIZE_NEAREST_NEIGHBOR and RESIZE_BILINEAR, to twice the size."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tvm_qnn.zoo.file import Array, File, Shape, Tensor
from tvm_qnn.zoo.float_run import FloatRun
from tvm_qnn.zoo.graph import Operator


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
