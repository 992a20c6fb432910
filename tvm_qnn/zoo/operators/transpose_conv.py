"""TRANSPOSE_CONV."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tvm_qnn.zoo import float_ops
from tvm_qnn.zoo.file import Array, File, Shape, Tensor, TensorType
from tvm_qnn.zoo.float_run import FloatRun, Weights
from tvm_qnn.zoo.graph import Operator


@dataclass(frozen=True)
class TransposeConv(Operator):
    """A transposed convolution with bias, to twice the height and width, SAME padding.

    Attributes:
        channels: of the output.
        kernel: its height and width.
    """

    channels: int
    kernel: tuple[int, int] = (2, 2)

    code = "TRANSPOSE_CONV"

    def shapes(self, *shapes: Shape) -> list[Shape]:
        """Return that of the output."""
        batch, height, width, _ = shapes[0]
        return [(batch, 2 * height, 2 * width, self.channels)]

    def compute(self, run: FloatRun, *arrays: Array) -> list[Array]:
        """Draw weights, and convolve."""
        (x,) = arrays
        drawn = run.drawn((*self.kernel, x.shape[3], self.channels))
        y = float_ops.transpose_conv2d(x, drawn, 2)
        factor, bias = run.normalise(y)
        run.weights = Weights((drawn * factor).transpose(3, 0, 1, 2), bias)
        return [y]

    def write(
        self, file: File, inputs: Sequence[Tensor], outputs: Sequence[TensorType]
    ) -> list[Tensor]:
        """Write it; the data comes between the weights and the bias."""
        shape = file.constant("shape", np.array(outputs[0].shape, np.int32))
        kernel, bias = file.kernel_and_bias(inputs[0], 0 if file.style.per_axis else None)
        tensors = [shape, kernel, inputs[0].index, bias]
        return file.layer(self.code, tensors, outputs, padding="SAME", stride_w=2, stride_h=2)
