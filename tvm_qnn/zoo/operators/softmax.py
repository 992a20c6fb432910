"""SOFTMAX."""

from __future__ import annotations

from typing import Any

import numpy as np

from tvm_qnn.zoo.file import Array, Shape
from tvm_qnn.zoo.float_run import FloatRun
from tvm_qnn.zoo.graph import Operator


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
