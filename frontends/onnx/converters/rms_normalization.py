"""RMSNormalization."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
from tvm import relax
from tvm.relax import op as R

from frontends.errors import UnsupportedError
from frontends.onnx.converters.normalized_rows import moments
from frontends.onnx.converters.registry import Operands, converter, operands_of
from qnn_ops.lanes import lanes_of, sum_of_lanes
from qnn_ops.registry import spec_of


@converter("RMSNormalization")
def _rms_normalization(
    builder: relax.BlockBuilder, operands: Operands, attributes: dict[str, Any]
) -> relax.Expr:
    """Divide the data by the root of the mean of their squares, and multiply by the scale.

    The squares are summed in float64 here, but where the order is stated, as that of ONNX Runtime's
    SkipSimplifiedLayerNormalization; its others sum in float32, in an order of its processor's.
    """
    data, scale = operands_of(operands, 2)
    shape, emit = spec_of(data).shape, builder.emit
    if spec_of(data).dtype != "float32" or attributes.get("stash_type", 1) != 1:
        raise UnsupportedError("it must be of float32")
    axis = int(attributes.get("axis", -1))
    if axis not in range(-len(shape), len(shape)):
        raise UnsupportedError(f"axis {axis} of data of shape {list(shape)}")
    axis %= len(shape)
    count = prod(shape[axis:])
    if "order" in attributes:
        _, square = moments(builder, data, axis, attributes["order"].decode())
    else:
        lanes = emit(R.reshape(data, (*shape[:axis], *lanes_of(count))))
        exact = emit(R.astype(lanes, "float64"))
        total = sum_of_lanes(builder, emit(R.multiply(exact, exact)))
        share = emit(R.multiply(total, relax.const(1 / count, "float64")))
        square = emit(R.reshape(R.astype(share, "float32"), (*shape[:axis], 1)))
    epsilon = relax.const(np.float32(attributes.get("epsilon", 1e-5)))
    deviation = emit(R.sqrt(emit(R.add(square, epsilon))))
    rows = emit(R.reshape(data, (*shape[:axis], count)))
    steps = emit(R.divide(rows, deviation))
    result = emit(R.multiply(steps, emit(R.reshape(scale, (count,)))))
    return emit(R.reshape(result, shape))
