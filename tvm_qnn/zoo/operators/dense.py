"""FULLY_CONNECTED and BATCH_MATMUL."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from qnn_ops.errors import QnnError
from tvm_qnn.zoo.file import Array, File, Shape, Tensor
from tvm_qnn.zoo.float_run import FloatRun, Weights
from tvm_qnn.zoo.graph import Operator
from tvm_qnn.zoo.images import PICTURES

# Logits: other classes scatter by _SCATTER, a picture's own class stands out by _PEAK. Without
# the scatter a picture that belongs to no class would have all logits equal, and TFLite's
# reference SOFTMAX cannot take 512 equal ones.
_SCATTER = 1.5
_PEAK = 12.0


@dataclass(frozen=True)
class Dense(Operator):
    """A layer of each row of the last axis, with bias; of float32 data a hybrid one.

    Attributes:
        units: of the output.
        activation: "NONE", "RELU" or "RELU6".
    """

    units: int
    activation: str = "NONE"

    code = "FULLY_CONNECTED"

    def shapes(self, *shapes: Shape) -> list[Shape]:
        """Return that of the output."""
        return [(*shapes[0][:-1], self.units)]

    def compute(self, run: FloatRun, *arrays: Array) -> list[Array]:
        """Draw weights, and multiply."""
        drawn = run.drawn((arrays[0].shape[-1], self.units))
        y = arrays[0] @ drawn
        factor, bias = run.normalise(y, self.activation)
        run.weights = Weights((drawn * factor).T, bias)
        return [y]

    def constants(self, file: File, inputs: Sequence[Tensor]) -> list[int]:
        """Write the weights."""
        if inputs[0].quantization is None:
            return file.hybrid_kernel_and_bias()
        return file.kernel_and_bias(inputs[0], None)

    def options(self) -> dict[str, Any]:
        """Return the activation, and that axes stay."""
        return {"fused_activation_function": self.activation, "keep_num_dims": True}


@dataclass(frozen=True)
class Classify(Operator):
    """The last layer of a classifier: [N, C] to [N, units], each picture with a class of its own.

    Attributes:
        units: the number of classes.
    """

    units: int

    code = "FULLY_CONNECTED"

    def shapes(self, *shapes: Shape) -> list[Shape]:
        """Return that of the output.

        Raises:
            QnnError: if there are fewer classes than pictures.
        """
        if self.units < PICTURES:
            raise QnnError(f"needs at least {PICTURES} classes, got {self.units}")
        return [(shapes[0][0], self.units)]

    def compute(self, run: FloatRun, *arrays: Array) -> list[Array]:
        """Draw random weights, corrected as little as possible to give each picture its class."""
        (x,) = arrays
        mean: np.ndarray[Any, Any] = x.mean(0)
        # float32, though the stubs of newer numpy take a mean for float64.
        centred: np.ndarray[Any, Any] = x - mean
        drawn = run.drawn((x.shape[1], self.units))
        drawn *= np.float32(_SCATTER / np.sqrt(centred.var(0).sum()))
        base = run.rng.normal(0, _SCATTER, self.units).astype(np.float32)
        wanted = centred @ drawn
        wanted[np.arange(PICTURES), run.picture_classes] = (
            base.max() + _PEAK - base[run.picture_classes]
        )
        gram = centred @ centred.T
        gram += 1e-3 * gram.trace() / len(gram) * np.eye(len(gram), dtype=np.float32)
        kernel = drawn + centred.T @ np.linalg.solve(gram, wanted - centred @ drawn)
        bias = base - mean @ kernel
        run.weights = Weights(kernel.T, bias)
        return [x @ kernel + bias]

    def constants(self, file: File, inputs: Sequence[Tensor]) -> list[int]:
        """Write the weights."""
        return file.kernel_and_bias(inputs[0], None)


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
