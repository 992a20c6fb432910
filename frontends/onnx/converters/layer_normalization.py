"""LayerNormalization."""

from __future__ import annotations

from math import prod
from typing import Any

from tvm import relax

from frontends.errors import UnsupportedError
from frontends.onnx.converters.normalized_rows import normalized, order_of
from frontends.onnx.converters.registry import Operands, converter, operands_of
from qnn_ops.registry import spec_of

_LEAST = 8
"""Elements of a row that MLAS has vectors for."""


@converter("LayerNormalization")
def _layer_normalization(
    builder: relax.BlockBuilder, operands: Operands, attributes: dict[str, Any]
) -> relax.Expr:
    """Return the normalized data.

    Sums, and what becomes of them, are those of MLAS on x86 with AVX2, or those of rows one by one
    where they are short; where an order is stated, as that of ONNX Runtime's operators with a sum
    before it, this.
    """
    data, scale, bias = operands_of(operands, 3)
    if attributes["tvm_custom"]["num_outputs"] > 1:
        raise UnsupportedError("mean and deviation as results are not imported")
    shape = spec_of(data).shape
    if spec_of(data).dtype != "float32":
        raise UnsupportedError("it must be of float32")
    axis = int(attributes.get("axis", -1)) % len(shape)
    order = order_of(attributes, prod(shape[axis:]), ("welford", "vectors"), _LEAST)
    epsilon = attributes.get("epsilon", 1e-5)
    return normalized(builder, data, axis, order, epsilon, (scale, bias))
