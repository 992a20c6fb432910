"""Writes the file of a quantized network."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from frontends.tflite.quantization import Quantization
from frontends.tflite.writer import ModelWriter
from qnn_ops.arithmetic.encoding import (
    Encoding,
    PerChannelEncoding,
    quantize_array,
    symmetric,
    symmetric_per_channel,
    tflite_asymmetric,
)
from tvm_qnn.zoo.float_ops import Real
from tvm_qnn.zoo.float_run import Weights

Shape = tuple[int, ...]
QUANTIZED = "quantized"
"""Stands for the dtype of the model's activations."""


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

    @property
    def is_float(self) -> bool:
        """Whether nothing is quantized."""
        return self.dtype == "float32"

    def activation(self, low: float, high: float) -> Quantization:
        """Return the encoding of a range of activations; int16 always has the zero point 0."""
        if self.dtype == "int16":
            return quantization_of(symmetric(max(-low, high), self.dtype))
        return quantization_of(tflite_asymmetric(low, high, self.dtype))

    def prescribed(self, lowest: float) -> Quantization:
        """Return the encoding that TFLite prescribes for values from `lowest`, 0 or -1, to 1."""
        if self.dtype == "int16":
            return Quantization.per_tensor(2.0**-15, 0)
        scale = (1 - lowest) / 256
        return Quantization.per_tensor(scale, int(np.iinfo(self.dtype).min - lowest / scale))


STYLES = {
    "uint8": Style("uint8"),
    "int8": Style("int8"),
    "int8_per_axis": Style("int8", per_axis=True),
    "int16x8": Style("int16", per_axis=True),
    "float32": Style("float32"),
}


@dataclass(frozen=True)
class Tensor:
    """A tensor of the file; its index is -1 before it is written."""

    shape: Shape
    dtype: str
    quantization: Quantization | None = None
    index: int = -1

    @property
    def encoding(self) -> Quantization:
        """The quantization of a quantized tensor."""
        assert self.quantization is not None
        return self.quantization


class File:
    """A model that is being written.

    Attributes:
        writer: writes the file's parts.
        style: how the model is quantized.
        weights: the weights of the operator that is being written, if it has any.
        inputs: the tensors of the model's inputs.
        layers: the number of operators that are written.
    """

    def __init__(self, style: Style) -> None:
        """Begin an empty file."""
        self.writer = ModelWriter()
        self.style = style
        self.weights: Weights | None = None
        self.inputs: list[Tensor] = []
        self.layers = 0

    def tensor(self, name: str, kind: Tensor) -> Tensor:
        """Add a tensor that is not a constant."""
        index = self.writer.tensor(name, kind.shape, kind.dtype, kind.quantization)
        return replace(kind, index=index)

    def layer(
        self, code: str, inputs: Sequence[int], outputs: Sequence[Tensor], **options: Any
    ) -> list[Tensor]:
        """Add an operator; its outputs are named after it and its index."""
        name = f"{code.lower().removeprefix('custom:')}_{self.layers}"
        names = [name, *(f"{name}:{number}" for number in range(1, len(outputs)))]
        written = [self.tensor(*each) for each in zip(names, outputs, strict=True)]
        self.layers += 1
        self.writer.operator(code, inputs, [tensor.index for tensor in written], **options)
        return written

    def constant(
        self, role: str, data: np.ndarray, quantization: Quantization | None = None
    ) -> int:
        """Add a constant of the next operator, and return its index."""
        name = f"layer_{self.layers}/{role}"
        return self.writer.tensor(name, data.shape, data.dtype.name, quantization, data)

    def requantized(self, x: Tensor, quantization: Quantization | None) -> Tensor:
        """Return the tensor at another scale; the tensor itself if it has this scale."""
        if quantization is None or _same(x.encoding, quantization):
            return x
        (y,) = self.layer("QUANTIZE", [x.index], [Tensor(x.shape, x.dtype, quantization)])
        return y

    def kernel_and_bias(self, x: Tensor, axis: int | None) -> list[int]:
        """Add the operator's weights, quantized.

        Args:
            x: the tensor that they are multiplied with.
            axis: the axis of the kernel's channels, if each has a scale of its own.

        Returns:
            The tensors of the kernel and of the bias.
        """
        assert self.weights is not None
        dtype = self.style.kernel_dtype
        encoding, quantization = _kernel_encoding(self.weights.kernel, dtype, axis)
        kernel = quantize_array(self.weights.kernel, encoding)
        bias_dtype = "int64" if self.style.dtype == "int16" else "int32"
        bias, scales = _quantize_bias(self.weights.bias, x.encoding, quantization, bias_dtype)
        tensor = self.constant("kernel", kernel, quantization)
        return [tensor, self.constant("bias", bias, scales)]

    def hybrid_kernel_and_bias(self) -> list[int]:
        """Add the operator's weights for float32 data.

        The bias is float32, and the kernel is int8, if the style is not float32.
        """
        assert self.weights is not None
        kernel, quantization = self.weights.kernel, None
        if not self.style.is_float:
            encoding, quantization = _kernel_encoding(kernel, "int8", None)
            kernel = quantize_array(kernel, encoding)
        tensor = self.constant("kernel", kernel, quantization)
        return [tensor, self.constant("bias", self.weights.bias)]

    def finish(self, name: str, outputs: Sequence[Tensor]) -> bytes:
        """Return the contents of the file."""
        starts, ends = ([tensor.index for tensor in each] for each in (self.inputs, outputs))
        return self.writer.finish(starts, ends, name)


def _same(one: Quantization, other: Quantization) -> bool:
    return np.array_equal(one.scale, other.scale) and np.array_equal(
        one.zero_point, other.zero_point
    )


def quantization_of(encoding: Encoding) -> Quantization:
    """Return an encoding in the file's form."""
    return Quantization.per_tensor(encoding.scale, encoding.zero_point)


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
        # As in quantization-aware training: ranges follow the weights slowly, so they are somewhat
        # wider, and zero points are not 128.
        low, high = (low * 1.25, high) if -low > high else (low, high * 1.25)
        encoding = tflite_asymmetric(low, high, dtype)
    return encoding, quantization_of(encoding)


def _quantize_bias(
    bias: Real, x: Quantization, kernel: Quantization, dtype: str
) -> tuple[npt.NDArray[Any], Quantization]:
    """Quantize biases to integers at the scale of the products, to which TFLite adds them."""
    scale = x.scale * kernel.scale
    steps = np.rint(bias.astype(np.float64) / scale)
    if dtype == "int32":
        limits = np.iinfo(np.int32)
        steps = np.clip(steps, limits.min, limits.max)
    return steps.astype(dtype), Quantization(scale, np.zeros(scale.size, np.int64))
