"""BatchNormalization."""

from __future__ import annotations

from typing import Any

import numpy as np
from tvm import relax
from tvm.relax import op as R

from frontends.errors import UnsupportedError
from frontends.onnx.converters.registry import Operands, converter, operands_of
from qnn_ops.registry import TensorSpec, spec_of


@converter("BatchNormalization")
def _batch_normalization(
    builder: relax.BlockBuilder, operands: Operands, attributes: dict[str, Any]
) -> relax.Expr:
    """Multiply by the scale times the reciprocal of the deviation, and add what is left."""
    data, *numbers = operands_of(operands, 5)
    if attributes["tvm_custom"]["num_outputs"] != 1 or attributes.get("training_mode", 0):
        raise UnsupportedError("training is not imported")
    shape, emit = spec_of(data).shape, builder.emit
    if any(spec_of(each) != TensorSpec(shape[1:2], "float32") for each in numbers):
        raise UnsupportedError("it must have one number of float32 for each channel")
    scale, bias, mean, variance = numbers
    epsilon, one = (relax.const(np.float32(x)) for x in (attributes.get("epsilon", 1e-5), 1))
    reciprocal = emit(R.divide(one, emit(R.sqrt(emit(R.add(variance, epsilon))))))
    factor = emit(R.multiply(scale, reciprocal))
    offset = emit(R.subtract(bias, emit(R.multiply(mean, factor))))
    channels = (1, -1, *[1] * (len(shape) - 2))
    factor, offset = (emit(R.reshape(each, channels)) for each in (factor, offset))
    return R.add(emit(R.multiply(data, factor)), offset)
