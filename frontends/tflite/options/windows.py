"""Options: convolutions and pools."""

from __future__ import annotations

from dataclasses import dataclass

from frontends.tflite.option_fields import Activation, Dilation, Dilation3, Filter, Stride, Stride3
from frontends.tflite.options.base import Options


@dataclass(frozen=True)
class Conv2DOptions(Options):
    """Convolution; `stride` and `dilation` are (height, width).

    `quantized_bias_type` is that of the bias beside int16 data, "float32" where it is not stated.
    """

    padding: str
    stride: Stride
    dilation: Dilation
    activation: Activation
    quantized_bias_type: str


@dataclass(frozen=True)
class Conv3DOptions(Options):
    """Convolution of volumes; `stride` and `dilation` are (depth, height, width)."""

    padding: str
    stride: Stride3
    dilation: Dilation3
    activation: Activation


@dataclass(frozen=True)
class DepthwiseConv2DOptions(Options):
    """Depthwise convolution; `depth_multiplier` is what the file says, even if 0."""

    padding: str
    stride: Stride
    dilation: Dilation
    depth_multiplier: int
    activation: Activation


@dataclass(frozen=True)
class TransposeConvOptions(Options):
    """Transposed convolution; `stride` is (height, width).

    `quantized_bias_type` as of a convolution.
    """

    padding: str
    stride: Stride
    activation: Activation
    quantized_bias_type: str


@dataclass(frozen=True)
class Pool2DOptions(Options):
    """Pooling; `filter` and `stride` are (height, width)."""

    padding: str
    stride: Stride
    filter: Filter
    activation: Activation
