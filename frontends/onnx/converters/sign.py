"""Sign."""

from __future__ import annotations

from typing import Any

import numpy as np
from tvm import relax
from tvm.relax import op as R

from frontends.onnx.converters.registry import Operands, converter, operands_of


@converter("Sign")
def _sign(
    builder: relax.BlockBuilder, operands: Operands, attributes: dict[str, Any]
) -> relax.Expr:
    """Return −1, 0 or 1; of unsigned integers, whose Sign TVM cannot compile, the least of 1."""
    (data,) = operands_of(operands, 1)
    dtype = str(data.ty.dtype)
    if not dtype.startswith("uint"):
        return R.sign(data)
    return R.minimum(data, relax.const(np.dtype(dtype).type(1)))
