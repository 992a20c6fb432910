"""BATCH_MATMUL."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tvm_qnn.zoo.file import Array, Shape
from tvm_qnn.zoo.float_run import FloatRun
from tvm_qnn.zoo.graph import Operator


@dataclass(frozen=True)
class MatMul(Operator):
    """Products of matrices.

    Attributes:
        is_transposed: whether the columns of the second lie in rows.
    """

    is_transposed: bool = False

    code = "BATCH_MATMUL"

    def shapes(self, *shapes: Shape) -> list[Shape]:
        """Return that of the output."""
        lhs, rhs = shapes
        return [(*lhs[:-1], rhs[-2 if self.is_transposed else -1])]

    def compute(self, run: FloatRun, *arrays: Array) -> list[Array]:
        """Multiply."""
        lhs, rhs = arrays
        return [lhs @ (np.swapaxes(rhs, -1, -2) if self.is_transposed else rhs)]

    def options(self) -> dict[str, Any]:
        """Return which matrices are transposed."""
        return {"adj_x": False, "adj_y": self.is_transposed}
