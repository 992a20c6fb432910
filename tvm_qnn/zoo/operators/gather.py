"""GATHER."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tvm_qnn.zoo.file import QUANTIZED, Array, File, Shape, Tensor, TensorType
from tvm_qnn.zoo.float_run import FloatRun, Weights
from tvm_qnn.zoo.graph import Operator


@dataclass(frozen=True)
class Embed(Operator):
    """Rows of a table, by their numbers.

    Attributes:
        words: rows of the table.
        depth: values of a row.
    """

    words: int
    depth: int

    code = "GATHER"

    def shapes(self, *shapes: Shape) -> list[Shape]:
        """Return that of the output."""
        return [(*shapes[0], self.depth)]

    def compute(self, run: FloatRun, *arrays: Array) -> list[Array]:
        """Draw the table, and take rows."""
        table = run.drawn((self.words, self.depth))
        run.weights = Weights(table, np.zeros(0, np.float32))
        return [table[arrays[0]]]

    def dtype(self, *dtypes: str) -> str:
        """Return that of activations."""
        return QUANTIZED

    def write(
        self, file: File, inputs: Sequence[Tensor], outputs: Sequence[TensorType]
    ) -> list[Tensor]:
        """Write it; the table, which comes before the numbers, has the output's scale."""
        assert file.weights is not None
        table = file.quantized_constant("table", file.weights.kernel, outputs[0].quantization)
        return file.layer(self.code, [table, inputs[0].index], outputs, axis=0)
