"""CONV_2D, DEPTHWISE_CONV_2D and TRANSPOSE_CONV."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tvm_qnn.zoo import float_ops
from tvm_qnn.zoo.file import Array, File, Shape, Tensor, TensorType
from tvm_qnn.zoo.float_ops import output_extent
from tvm_qnn.zoo.float_run import FloatRun, Weights
from tvm_qnn.zoo.graph import Operator


def window_shape(
    x: Shape, kernel: tuple[int, int], stride: int, padding: str, channels: int
) -> Shape:
    """Return the shape [N, height, width, channels] of the windows' results."""
    batch, height, width, _ = x
    return (
        batch,
        output_extent(height, kernel[0], stride, padding),
        output_extent(width, kernel[1], stride, padding),
        channels,
    )


@dataclass(frozen=True)
class Conv(Operator):
    """A convolution of [N, H, W, C] with bias.

    Attributes:
        channels: of the output.
        kernel: its height and width.
        stride: in both directions.
        padding: "SAME" or "VALID".
        activation: "NONE", "RELU" or "RELU6".
    """

    channels: int
    kernel: tuple[int, int]
    stride: int = 1
    padding: str = "SAME"
    activation: str = "RELU"

    code = "CONV_2D"

    def shapes(self, *shapes: Shape) -> list[Shape]:
        """Return that of the output."""
        return [window_shape(shapes[0], self.kernel, self.stride, self.padding, self.channels)]

    def compute(self, run: FloatRun, *arrays: Array) -> list[Array]:
        """Draw weights, and convolve."""
        (x,) = arrays
        drawn = run.drawn((*self.kernel, x.shape[3], self.channels))
        y = float_ops.conv2d(x, drawn, self.stride, self.padding)
        factor, bias = run.normalise(y, self.activation)
        run.weights = Weights((drawn * factor).transpose(3, 0, 1, 2), bias)
        return [y]

    def constants(self, file: File, inputs: Sequence[Tensor]) -> list[int]:
        """Write the weights."""
        return file.kernel_and_bias(inputs[0], 0 if file.style.per_axis else None)

    def options(self) -> dict[str, Any]:
        """Return padding, strides and activation."""
        return {
            "padding": self.padding,
            "stride_w": self.stride,
            "stride_h": self.stride,
            "fused_activation_function": self.activation,
        }


class Expectation(Operator):
    """The mean place, from 0 on, of each distribution along the last axis, which becomes 1.

    It is a convolution with the places as weights.
    """

    code = "CONV_2D"

    def shapes(self, *shapes: Shape) -> list[Shape]:
        """Return that of the output."""
        return [(*shapes[0][:3], 1)]

    def compute(self, run: FloatRun, *arrays: Array) -> list[Array]:
        """Take the means."""
        places = np.arange(arrays[0].shape[3], dtype=np.float32)
        run.weights = Weights(places[None, None, None], np.zeros(1, np.float32))
        return [arrays[0] @ places[:, None]]

    def constants(self, file: File, inputs: Sequence[Tensor]) -> list[int]:
        """Write the places."""
        return file.kernel_and_bias(inputs[0], 0 if file.style.per_axis else None)

    def options(self) -> dict[str, Any]:
        """Return padding and strides."""
        return {"padding": "VALID", "stride_w": 1, "stride_h": 1}


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
