"""DEPTHWISE_CONV_2D."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tvm_qnn.zoo import float_ops
from tvm_qnn.zoo.file import Array, File, Shape, Tensor
from tvm_qnn.zoo.float_run import FloatRun, Weights
from tvm_qnn.zoo.graph import Operator
from tvm_qnn.zoo.operators.windows import window_shape


@dataclass(frozen=True)
class Depthwise(Operator):
    """A convolution of each channel of [N, H, W, C] by itself, with bias.

    Attributes:
        kernel: its height and width.
        stride: in both directions.
        activation: "NONE", "RELU" or "RELU6".
        padding: "SAME" or "VALID".
    """

    kernel: tuple[int, int]
    stride: int = 1
    activation: str = "RELU6"
    padding: str = "SAME"

    code = "DEPTHWISE_CONV_2D"

    def shapes(self, *shapes: Shape) -> list[Shape]:
        """Return that of the output."""
        return [window_shape(shapes[0], self.kernel, self.stride, self.padding, shapes[0][3])]

    def compute(self, run: FloatRun, *arrays: Array) -> list[Array]:
        """Draw weights, and convolve."""
        (x,) = arrays
        drawn = run.drawn((*self.kernel, x.shape[3]))
        y = float_ops.depthwise_conv2d(x, drawn, self.stride, self.padding)
        factor, bias = run.normalise(y, self.activation)
        run.weights = Weights((drawn * factor)[None], bias)
        return [y]

    def constants(self, file: File, inputs: Sequence[Tensor]) -> list[int]:
        """Write the weights."""
        return file.kernel_and_bias(inputs[0], 3 if file.style.per_axis else None)

    def options(self) -> dict[str, Any]:
        """Return padding, strides and activation."""
        return {
            "padding": self.padding,
            "stride_w": self.stride,
            "stride_h": self.stride,
            "depth_multiplier": 1,
            "fused_activation_function": self.activation,
        }
