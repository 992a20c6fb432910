"""Gelu."""

from __future__ import annotations

from typing import Any

import numpy as np
from tvm import relax
from tvm.relax import op as R

from frontends.errors import UnsupportedError
from frontends.onnx.converters.registry import Operands, converter, operands_of


@converter("Gelu")
def _gelu(
    builder: relax.BlockBuilder, operands: Operands, attributes: dict[str, Any]
) -> relax.Expr:
    """Return half of the data, times 1 plus the error function of the data times √½."""
    if attributes.get("approximate", b"none") != b"none":
        raise UnsupportedError("the approximation by tanh is not imported")
    (data,) = operands_of(operands, 1)
    root, one, half = (relax.const(np.float32(number)) for number in (0.5**0.5, 1, 0.5))
    factor = R.add(builder.emit(R.erf(builder.emit(R.multiply(data, root)))), one)
    return R.multiply(R.multiply(half, data), factor)
