"""Options: products of matrices."""

from __future__ import annotations

from dataclasses import dataclass

from frontends.tflite.option_fields import Activation
from frontends.tflite.options.base import Options


@dataclass(frozen=True)
class FullyConnectedOptions(Options):
    """Fully connected layer; `weights_format` is "DEFAULT" or "SHUFFLED4x16INT8".

    `quantized_bias_type` is that of the bias beside int16 data, "float32" where it is not stated.
    """

    activation: Activation
    keep_num_dims: bool
    weights_format: str
    asymmetric_quantize_inputs: bool
    quantized_bias_type: str


@dataclass(frozen=True)
class BatchMatMulOptions(Options):
    """Products of matrices; one or both may be transposed first."""

    adj_x: bool
    adj_y: bool
    asymmetric_quantize_inputs: bool
