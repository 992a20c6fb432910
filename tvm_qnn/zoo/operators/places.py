"""ARG_MAX and GATHER_ND: where values are largest, and what lies there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tvm_qnn.zoo.file import Array, File, Shape, Tensor
from tvm_qnn.zoo.float_run import FloatRun
from tvm_qnn.zoo.graph import Operator


@dataclass(frozen=True)
class ArgMax(Operator):
    """The place of the largest value along an axis other than the first, which goes."""

    axis: int

    code = "ARG_MAX"

    def shapes(self, *shapes: Shape) -> list[Shape]:
        """Return that of the output."""
        return [(*shapes[0][: self.axis], *shapes[0][self.axis + 1 :])]

    def dtype(self, *dtypes: str) -> str:
        """Return int32."""
        return "int32"

    def compute(self, run: FloatRun, *arrays: Array) -> list[Array]:
        """Find the places."""
        return [arrays[0].argmax(self.axis).astype(np.int32)]

    def constants(self, file: File, inputs: Sequence[Tensor]) -> list[int]:
        """Write the axis."""
        return [file.constant("axis", np.array(self.axis, np.int32))]

    def options(self) -> dict[str, Any]:
        """Return the dtype of places."""
        return {"output_type": "int32"}


class GatherNd(Operator):
    """What lies at places of an array: int32 [1, count, axes], of which the first axis is 0."""

    code = "GATHER_ND"
    same_scale = True

    def shapes(self, *shapes: Shape) -> list[Shape]:
        """Return that of the output."""
        data, places = shapes
        return [(*places[:-1], *data[places[-1] :])]

    def compute(self, run: FloatRun, *arrays: Array) -> list[Array]:
        """Gather, from each sample what its own places say."""
        data, places = arrays
        return [np.stack([x[tuple(at.T[1:])] for x, at in zip(data, places, strict=True)])]
