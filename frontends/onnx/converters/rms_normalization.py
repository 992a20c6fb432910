"""RMSNormalization."""

from __future__ import annotations

from math import prod
from typing import Any

from tvm import relax

from frontends.errors import UnsupportedError
from frontends.onnx.converters.normalized_rows import normalized, order_of
from frontends.onnx.converters.registry import Operands, converter, operands_of
from qnn_ops.registry import spec_of

_LEAST = 16
"""Elements of a row that MLAS has vectors for."""


@converter("RMSNormalization")
def _rms_normalization(
    builder: relax.BlockBuilder, operands: Operands, attributes: dict[str, Any]
) -> relax.Expr:
    """Divide the data by the root of the mean of their squares, and multiply by the scale.

    Sums, and what becomes of them, are those of MLAS on x86 with AVX2, or those of rows one by one
    where they are short or ONNX Runtime's SkipSimplifiedLayerNormalization states it.
    """
    data, scale = operands_of(operands, 2)
    shape = spec_of(data).shape
    if spec_of(data).dtype != "float32" or attributes.get("stash_type", 1) != 1:
        raise UnsupportedError("it must be of float32")
    axis = int(attributes.get("axis", -1))
    if axis not in range(-len(shape), len(shape)):
        raise UnsupportedError(f"axis {axis} of data of shape {list(shape)}")
    axis %= len(shape)
    order = order_of(attributes, prod(shape[axis:]), ("squares", "vector_squares"), _LEAST)
    epsilon = attributes.get("epsilon", 1e-5)
    return normalized(builder, data, axis, order, epsilon, (scale, None))
