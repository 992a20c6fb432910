"""Quantizes the trained digit classifier after training, into a TFLite model.

Activations get the range that the calibration pictures give them; weights get their own. The
formats are those of TFLite's 8-bit quantization specification ("int8") and of the asymmetric
one that preceded it ("uint8").
"""

from typing import Any

import numpy as np

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
from qnn_ops.arithmetic.fixed_point import round_half_away
from tools.digits import network
from tools.digits.layers import Array
from tvm_qnn.digits import input_encoding


def quantize(parameters: network.Parameters, calibration: Array, style: str) -> bytes:
    """Write the network as a quantized TFLite model.

    Args:
        parameters: the trained parameters.
        calibration: pictures [N, 8, 8, 1], values from 0 to 1, that give the activation ranges.
        style: "int8" or "uint8"; see `tvm_qnn.digits.model`.

    Returns:
        The contents of a .tflite file for one picture at a time; resizing the input makes it
        take more.

    Raises:
        QnnError: if there is no such style, or a parameter is not finite.
    """
    graph = Graph(parameters, network.run(parameters, calibration), style)
    unit: dict[str, Any] = {"padding": "SAME", "stride_h": 1, "stride_w": 1}
    block = {**unit, "stride_h": 2, "stride_w": 2, "filter_height": 2, "filter_width": 2}
    relu: dict[str, Any] = {"fused_activation_function": "RELU"}

    data = graph.activation("input", input_encoding(style))
    stem = graph.weighted("CONV_2D", "stem", data, **unit, **relu)
    depthwise = graph.weighted(
        "DEPTHWISE_CONV_2D", "depthwise", stem, depth_multiplier=1, **unit, **relu
    )
    pointwise = graph.weighted("CONV_2D", "pointwise", depthwise, **unit)
    residual = graph.operator("ADD", "residual", [stem, pointwise], **relu)
    # Pools and RESHAPE keep their input's scale and zero point.
    max_pool = graph.operator("MAX_POOL_2D", "max_pool", [residual], like=residual, **block)
    conv = graph.weighted("CONV_2D", "conv", max_pool, **unit, **relu)
    average_pool = graph.operator("AVERAGE_POOL_2D", "average_pool", [conv], like=conv, **block)
    flat = graph.flatten(average_pool)
    logits = graph.weighted("FULLY_CONNECTED", "logits", flat)
    probabilities = graph.softmax(logits)
    description = f"Handwritten digits, 8x8 pixels, {style}"
    return graph.writer.finish([data], [probabilities], description)


class Graph:
    """Adds operators to a model, with the encodings that go with them."""

    def __init__(
        self, parameters: network.Parameters, activations: network.Activations, style: str
    ) -> None:
        self.writer = ModelWriter()
        self._parameters = parameters
        self._activations = activations
        self._style = style
        self._encodings: dict[int, Encoding] = {}

    def activation(self, name: str, encoding: Encoding | None = None) -> int:
        """Add an activation; its encoding is by default that of its calibrated range."""
        values = self._activations[name]
        encoding = encoding or tflite_asymmetric(values.min(), values.max(), self._style)
        return self._tensor(name, values.shape[1:], encoding)

    def operator(
        self, code: str, name: str, inputs: list[int], like: int | None = None, **options: Any
    ) -> int:
        """Add an operator, whose output has the encoding of the tensor `like` if given."""
        output = self.activation(name, None if like is None else self._encodings[like])
        self.writer.operator(code, inputs, [output], **options)
        return output

    def weighted(self, code: str, name: str, data: int, **options: Any) -> int:
        """Add a layer with a kernel and a bias."""
        kernel = self._parameters[f"{name}/kernel"]
        encoding = self._kernel_encoding(code, kernel)
        stored = quantize_array(kernel, encoding)
        kernel_index = self.writer.tensor(
            f"{name}/kernel", kernel.shape, encoding.dtype, _quantization(encoding), stored
        )
        bias_index = self._bias(name, self._encodings[data].scale, encoding)
        return self.operator(code, name, [data, kernel_index, bias_index], **options)

    def flatten(self, data: int) -> int:
        """Add a RESHAPE to [batch, values], whatever the batch."""
        target = np.array([-1, network.SHAPES["logits"][1]], np.int32)
        target_index = self.writer.tensor("flat/shape", target.shape, "int32", data=target)
        flat = self._tensor("flat", target[1:], self._encodings[data])
        self.writer.operator("RESHAPE", [data, target_index], [flat], new_shape=target)
        return flat

    def softmax(self, logits: int) -> int:
        """Add the SOFTMAX, whose output encoding TFLite prescribes."""
        lowest = int(np.iinfo(self._style).min)
        encoding = Encoding(1 / 256, lowest, self._style)
        probabilities = self._tensor("probabilities", [network.CLASSES], encoding)
        self.writer.operator("SOFTMAX", [logits], [probabilities], beta=1.0)
        return probabilities

    def logistic(self, logits: int, shape: Any) -> int:
        """Add the LOGISTIC, whose output encoding TFLite prescribes."""
        encoding = Encoding(1 / 256, int(np.iinfo(self._style).min), self._style)
        probabilities = self._tensor("probabilities", shape, encoding)
        self.writer.operator("LOGISTIC", [logits], [probabilities])
        return probabilities

    def real(self, data: int, shape: Any) -> int:
        """Add a RESHAPE to one of [1, *shape], and a DEQUANTIZE."""
        target = np.array([1, *shape], np.int32)
        name = f"shape{data}"
        target_index = self.writer.tensor(name, target.shape, "int32", data=target)
        flat = self._tensor(f"flat{data}", shape, self._encodings[data])
        self.writer.operator("RESHAPE", [data, target_index], [flat], new_shape=target)
        real = self.writer.tensor(f"real{data}", (1, *shape), "float32")
        self.writer.operator("DEQUANTIZE", [flat], [real])
        return real

    def _tensor(self, name: str, shape: Any, encoding: Encoding) -> int:
        index = self.writer.tensor(name, (1, *shape), encoding.dtype, _quantization(encoding))
        self._encodings[index] = encoding
        return index

    def _kernel_encoding(self, code: str, kernel: Array) -> Encoding | PerChannelEncoding:
        if self._style == "uint8":
            return tflite_asymmetric(kernel.min(), kernel.max(), "uint8")
        if code == "FULLY_CONNECTED":  # per axis only since a late version of the operator
            return symmetric(np.abs(kernel).max(), "int8")
        return symmetric_per_channel(kernel, axis=3 if code == "DEPTHWISE_CONV_2D" else 0)

    def _bias(self, name: str, input_scale: float, kernel: Encoding | PerChannelEncoding) -> int:
        """Add the bias in int32, in steps of the products that it is added to."""
        bias = self._parameters[f"{name}/bias"]
        scale = np.float32(input_scale) * np.atleast_1d(np.asarray(kernel.scale, np.float32))
        stored = round_half_away(bias / scale.astype(np.float64)).astype(np.int32)
        quantization = Quantization(scale, np.zeros(scale.size, np.int64))
        return self.writer.tensor(f"{name}/bias", bias.shape, "int32", quantization, stored)


def _quantization(encoding: Encoding | PerChannelEncoding) -> Quantization:
    if isinstance(encoding, Encoding):
        return Quantization.per_tensor(encoding.scale, encoding.zero_point)
    return Quantization(
        np.array(encoding.scale, np.float32),
        np.array(encoding.zero_point, np.int64),
        encoding.axis,
    )
