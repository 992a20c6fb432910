"""A calibrated network as a quantized TFLite model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from frontends.tflite.quantization import Quantization
from frontends.tflite.writer import ModelWriter
from qnn_ops.encoding import (
    Encoding,
    PerChannelEncoding,
    quantize_array,
    symmetric,
    symmetric_per_channel,
    tflite_asymmetric,
)
from tvm_qnn.zoo.calibrate import Calibration, Weights, channel_scaler
from tvm_qnn.zoo.float_ops import Real, output_extent
from tvm_qnn.zoo.topologies import TOPOLOGIES


@dataclass(frozen=True)
class Style:
    """The quantization of a model.

    Attributes:
        dtype: of the activations.
        per_axis: whether convolutions have a scale per channel.
    """

    dtype: str
    per_axis: bool = False

    @property
    def kernel_dtype(self) -> str:
        """The dtype of weights."""
        return "int8" if self.dtype == "int16" else self.dtype


STYLES = {
    "uint8": Style("uint8"),
    "int8": Style("int8"),
    "int8_per_axis": Style("int8", per_axis=True),
    "int16x8": Style("int16", per_axis=True),
}


def emit(
    name: str, style: Style, calibration: Calibration, size: int, width: float, classes: int
) -> bytes:
    """Quantize a network and write it.

    Args:
        name: a network of the zoo.
        style: how to quantize.
        calibration: what `calibrate` found for the same name, size, width and classes.
        size: height and width of the picture, in pixels.
        width: what the published numbers of channels are multiplied by.
        classes: the number of classes.

    Returns:
        The contents of a .tflite file: one picture [1, size, size, 3] in, the probabilities
        [1, classes] out, both of the style's dtype.
    """
    quantized_pass = _QuantizedPass(style, calibration)
    picture = quantized_pass.activation("input", (1, size, size, 3))
    probabilities = TOPOLOGIES[name].describe(
        quantized_pass, picture, classes, channel_scaler(width)
    )
    return quantized_pass.finish(name, picture, probabilities)


@dataclass(frozen=True)
class _Activation:
    tensor: int
    shape: tuple[int, ...]
    quantization: Quantization


class _QuantizedPass:
    """A Builder that writes."""

    def __init__(self, style: Style, calibration: Calibration) -> None:
        self.writer = ModelWriter()
        self.style = style
        # A signed CONCATENATION has no scales: all its inputs must have the output's.
        self.ranges = iter(calibration.ranges if style.dtype == "uint8" else calibration.tied)
        self.weights = iter(calibration.weights)
        self.layers = 0

    def finish(self, name: str, picture: _Activation, probabilities: _Activation) -> bytes:
        return self.writer.finish([picture.tensor], [probabilities.tensor], name)

    def activation(
        self, name: str, shape: tuple[int, ...], quantization: Quantization | None = None
    ) -> _Activation:
        """Return a new tensor, by default with the next of the recorded ranges."""
        if quantization is None:
            low, high = next(self.ranges)
            quantization = _quantization(_encoding(low, high, self.style.dtype))
        tensor = self.writer.tensor(name, shape, self.style.dtype, quantization)
        return _Activation(tensor, shape, quantization)

    def layer(
        self,
        code: str,
        inputs: Sequence[int],
        shape: tuple[int, ...],
        quantization: Quantization | None = None,
        **options: Any,
    ) -> _Activation:
        """Return an operator with one output, named after the operator and its place."""
        y = self.activation(f"{code.lower()}_{self.layers}", shape, quantization)
        self.layers += 1
        self.writer.operator(code, inputs, [y.tensor], **options)
        return y

    def conv(
        self,
        x: _Activation,
        channels: int,
        kernel: tuple[int, int],
        stride: int = 1,
        padding: str = "SAME",
        activation: str = "RELU",
    ) -> _Activation:
        constants = self._constants(x, 0 if self.style.per_axis else None)
        return self.layer(
            "CONV_2D",
            [x.tensor, *constants],
            _window_shape(x, kernel, stride, padding, channels),
            padding=padding,
            stride_w=stride,
            stride_h=stride,
            fused_activation_function=activation,
        )

    def depthwise(
        self, x: _Activation, kernel: tuple[int, int], stride: int = 1, activation: str = "RELU6"
    ) -> _Activation:
        constants = self._constants(x, 3 if self.style.per_axis else None)
        return self.layer(
            "DEPTHWISE_CONV_2D",
            [x.tensor, *constants],
            _window_shape(x, kernel, stride, "SAME", x.shape[3]),
            padding="SAME",
            stride_w=stride,
            stride_h=stride,
            depth_multiplier=1,
            fused_activation_function=activation,
        )

    def max_pool(
        self, x: _Activation, size: int, stride: int, padding: str = "VALID"
    ) -> _Activation:
        return self._pool("MAX_POOL_2D", x, size, stride, padding)

    def avg_pool(
        self, x: _Activation, size: int, stride: int, padding: str = "VALID"
    ) -> _Activation:
        return self._pool("AVERAGE_POOL_2D", x, size, stride, padding)

    def _pool(self, code: str, x: _Activation, size: int, stride: int, padding: str) -> _Activation:
        return self.layer(
            code,
            [x.tensor],
            _window_shape(x, (size, size), stride, padding, x.shape[3]),
            x.quantization,
            padding=padding,
            stride_w=stride,
            stride_h=stride,
            filter_width=size,
            filter_height=size,
        )

    def concat(self, values: Sequence[_Activation]) -> _Activation:
        shape = (*values[0].shape[:3], sum(value.shape[3] for value in values))
        return self.layer("CONCATENATION", [value.tensor for value in values], shape, axis=3)

    def add(self, lhs: _Activation, rhs: _Activation, activation: str = "NONE") -> _Activation:
        return self.layer(
            "ADD",
            [lhs.tensor, rhs.tensor],
            lhs.shape,
            fused_activation_function=activation,
            pot_scale_int16=False,
        )

    def mean(self, x: _Activation) -> _Activation:
        axes = self.writer.tensor("mean/axes", (2,), "int32", data=np.array([1, 2], np.int32))
        return self.layer("MEAN", [x.tensor, axes], (x.shape[0], x.shape[3]), keep_dims=False)

    def dense(self, x: _Activation, units: int) -> _Activation:
        constants = self._constants(x, None)
        return self.layer("FULLY_CONNECTED", [x.tensor, *constants], (x.shape[0], units))

    def softmax(self, x: _Activation) -> _Activation:
        # The only output scales and zero points that TFLite's SOFTMAX accepts.
        lowest = int(np.iinfo(self.style.dtype).min)
        scale, point = (2.0**-15, 0) if self.style.dtype == "int16" else (1 / 256, lowest)
        output = Quantization.per_tensor(scale, point)
        return self.layer("SOFTMAX", [x.tensor], x.shape, output, beta=1.0)

    def _constants(self, x: _Activation, axis: int | None) -> tuple[int, int]:
        """Return the next weights, quantized: the tensors of the kernel and of the bias."""
        weights = next(self.weights)
        dtype = self.style.kernel_dtype
        encoding, quantization = _kernel_encoding(weights.kernel, dtype, axis)
        kernel = quantize_array(weights.kernel, encoding)
        bias_dtype = "int64" if self.style.dtype == "int16" else "int32"
        bias, bias_quantization = _quantize_bias(weights, x.quantization, quantization, bias_dtype)
        name = f"layer_{self.layers}"
        return (
            self.writer.tensor(f"{name}/kernel", kernel.shape, dtype, quantization, kernel),
            self.writer.tensor(f"{name}/bias", bias.shape, bias_dtype, bias_quantization, bias),
        )


def _window_shape(
    x: _Activation, kernel: tuple[int, int], stride: int, padding: str, channels: int
) -> tuple[int, ...]:
    batch, height, width, _ = x.shape
    return (
        batch,
        output_extent(height, kernel[0], stride, padding),
        output_extent(width, kernel[1], stride, padding),
        channels,
    )


def _quantization(encoding: Encoding) -> Quantization:
    return Quantization.per_tensor(encoding.scale, encoding.zero_point)


def _encoding(low: float, high: float, dtype: str) -> Encoding:
    """Return the encoding of a range of activations; that of int16 has the zero point 0."""
    if dtype == "int16":
        return symmetric(max(-low, high), dtype)
    return tflite_asymmetric(low, high, dtype)


def _kernel_encoding(
    kernel: Real, dtype: str, axis: int | None
) -> tuple[Encoding | PerChannelEncoding, Quantization]:
    """Return the encoding of a kernel, for numpy and for the file."""
    if axis is not None:
        channels = symmetric_per_channel(kernel, axis, dtype)
        scale = np.array(channels.scale, np.float32)
        return channels, Quantization(scale, np.array(channels.zero_point, np.int64), axis)
    low, high = float(kernel.min()), float(kernel.max())
    if dtype == "int8":
        encoding = symmetric(max(-low, high), dtype)
    else:
        # As in models trained with quantization in mind: their ranges follow the weights slowly,
        # so they are somewhat wider, and their zero points are not 128.
        low, high = (low * 1.25, high) if -low > high else (low, high * 1.25)
        encoding = tflite_asymmetric(low, high, dtype)
    return encoding, _quantization(encoding)


def _quantize_bias(
    weights: Weights, x: Quantization, kernel: Quantization, dtype: str
) -> tuple[npt.NDArray[Any], Quantization]:
    """Quantize biases to integers at the scale of the products, where TFLite adds them."""
    scale = x.scale * kernel.scale
    steps = np.rint(weights.bias.astype(np.float64) / scale)
    if dtype == "int32":
        limits = np.iinfo(np.int32)
        steps = np.clip(steps, limits.min, limits.max)
    bias = steps.astype(dtype)
    return bias, Quantization(scale, np.zeros(scale.size, np.int64))
