"""LayerNormalization."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
from tvm import relax
from tvm.relax import op as R

from frontends.errors import UnsupportedError
from frontends.onnx.converters.normalized_rows import normalized
from frontends.onnx.converters.registry import Operands, converter, operands_of
from qnn_ops import fused_multiply_add
from qnn_ops.lanes import lanes_of, sum_of_lanes
from qnn_ops.registry import spec_of


@converter("LayerNormalization")
def _layer_normalization(
    builder: relax.BlockBuilder, operands: Operands, attributes: dict[str, Any]
) -> relax.Expr:
    """Return the normalized data.

    The mean, and that of the squared distances from it, are summed in float64 here; ONNX Runtime
    sums in float32, in an order of its processor's. The rest is as there: the distance times the
    reciprocal of the deviation, and a fused product with the scale and sum with the bias. Where an
    order is stated, as that of ONNX Runtime's operators with a sum before it, all is as there.
    """
    data, scale, bias = operands_of(operands, 3)
    if attributes["tvm_custom"]["num_outputs"] > 1:
        raise UnsupportedError("mean and deviation as results are not imported")
    shape, emit = spec_of(data).shape, builder.emit
    if spec_of(data).dtype != "float32":
        raise UnsupportedError("it must be of float32")
    axis = int(attributes.get("axis", -1)) % len(shape)
    if "order" in attributes:
        order, small = attributes["order"].decode(), np.float32(attributes["epsilon"])
        return normalized(builder, data, axis, order, small, (scale, bias))
    count = prod(shape[axis:])
    lanes = lanes_of(count)
    rows = emit(R.reshape(data, (*shape[:axis], *lanes)))
    share = relax.const(1 / count, "float64")  # fused, a division would be one for each element

    def mean_of(values: relax.Expr) -> relax.Expr:
        total = sum_of_lanes(builder, values)
        return emit(R.astype(R.multiply(total, share), "float32"))

    distance = emit(R.subtract(rows, mean_of(emit(R.astype(rows, "float64")))))
    exact = emit(R.astype(distance, "float64"))
    variance = mean_of(emit(R.multiply(exact, exact)))
    epsilon = relax.const(np.float32(attributes.get("epsilon", 1e-5)))
    deviation = emit(R.sqrt(R.add(variance, epsilon)))
    reciprocal = emit(R.divide(relax.const(np.float32(1)), deviation))
    steps = emit(R.multiply(distance, reciprocal))
    scale = emit(R.reshape(scale, lanes))
    if bias is None:
        result = emit(R.multiply(steps, scale))
    else:
        result = emit(fused_multiply_add(steps, scale, emit(R.reshape(bias, lanes))))
    return emit(R.reshape(result, shape))
