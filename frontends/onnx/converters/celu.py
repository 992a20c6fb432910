"""Celu."""

from __future__ import annotations

from typing import Any

import numpy as np
from tvm import relax
from tvm.relax import op as R

from frontends.errors import UnsupportedError
from frontends.onnx.converters.registry import Operands, converter, operands_of


@converter("Celu")
def _celu(
    builder: relax.BlockBuilder, operands: Operands, attributes: dict[str, Any]
) -> relax.Expr:
    """Return max(0, x) + min(0, alpha (exp(x / alpha) - 1))."""
    (data,) = operands_of(operands, 1)
    number = np.float32(attributes.get("alpha", 1.0))
    if not np.isfinite(number) or number == 0:
        raise UnsupportedError(f"alpha must be a number that is not 0, got {number}")
    alpha, one, zero = (relax.const(np.float32(each)) for each in (number, 1, 0))
    power = builder.emit(R.exp(builder.emit(R.divide(data, alpha))))
    low = builder.emit(R.multiply(builder.emit(R.subtract(power, one)), alpha))
    return R.add(builder.emit(R.maximum(data, zero)), builder.emit(R.minimum(low, zero)))
