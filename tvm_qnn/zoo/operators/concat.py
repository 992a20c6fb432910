"""CONCATENATION."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tvm_qnn.zoo.file import Array, File, Shape, Tensor, TensorType
from tvm_qnn.zoo.float_run import FloatRun
from tvm_qnn.zoo.graph import Operator


@dataclass(frozen=True)
class Concat(Operator):
    """Values side by side along an axis other than the first; for pictures, the channels."""

    axis: int = 3

    code = "CONCATENATION"
    joins = True

    def shapes(self, *shapes: Shape) -> list[Shape]:
        """Return that of the output."""
        joined = sum(shape[self.axis] for shape in shapes)
        return [(*shapes[0][: self.axis], joined, *shapes[0][self.axis + 1 :])]

    def compute(self, run: FloatRun, *arrays: Array) -> list[Array]:
        """Join."""
        return [np.concatenate(arrays, axis=self.axis)]

    def options(self) -> dict[str, Any]:
        """Return the axis."""
        return {"axis": self.axis}

    def write(
        self, file: File, inputs: Sequence[Tensor], outputs: Sequence[TensorType]
    ) -> list[Tensor]:
        """Write it, and QUANTIZE before it where the scale of a signed input is fixed."""
        if file.style.dtype != "uint8":
            inputs = [file.requantized(x, outputs[0].quantization) for x in inputs]
        return super().write(file, inputs, outputs)
