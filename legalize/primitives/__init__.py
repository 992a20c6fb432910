"""Every operator of the dialect as integer Relax operators: exact, for any target.

A file holds one operator's rule; importing this package registers them all.
"""

from __future__ import annotations

from legalize.primitives import (
    dequantize,
    fused_multiply_add,
    quantize,
    quantized_add,
    quantized_concat,
    quantized_conv2d,
    quantized_dense,
    quantized_lookup,
    quantized_mean,
    quantized_multiply,
    quantized_pad,
    quantized_pool2d,
    quantized_relu,
    quantized_resize2d,
    quantized_softmax,
    quantized_subtract,
    requantize,
)
from legalize.primitives.registry import PRIMITIVES, primitive

__all__ = [
    "PRIMITIVES",
    "dequantize",
    "fused_multiply_add",
    "primitive",
    "quantize",
    "quantized_add",
    "quantized_concat",
    "quantized_conv2d",
    "quantized_dense",
    "quantized_lookup",
    "quantized_mean",
    "quantized_multiply",
    "quantized_pad",
    "quantized_pool2d",
    "quantized_relu",
    "quantized_resize2d",
    "quantized_softmax",
    "quantized_subtract",
    "requantize",
]
