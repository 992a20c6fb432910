"""MEAN."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tvm_qnn.zoo.file import Array, File, Shape, Tensor
from tvm_qnn.zoo.float_run import FloatRun
from tvm_qnn.zoo.graph import Operator


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
