"""Pow."""

from __future__ import annotations

from typing import Any

import numpy as np
from tvm import relax
from tvm.relax import op as R

from frontends.errors import UnsupportedError
from frontends.onnx.converters.registry import Operands, converter, operands_of
from qnn_ops.registry import constant_of, spec_of


@converter("Pow")
def _pow(
    builder: relax.BlockBuilder, operands: Operands, _attributes: dict[str, Any]
) -> relax.Expr:
    """Return powers of real numbers, whose exponents may be integers.

    ONNX Runtime multiplies where the exponent is the number 2 or 3; so does this.
    """
    base, exponent = operands_of(operands, 2)
    dtype = spec_of(base).dtype
    if not dtype.startswith("float"):
        raise UnsupportedError(f"its base must be a real number, got {dtype}")
    known = constant_of(exponent)
    if known is not None and known.size == 1 and known.item() in (2, 3):
        shape = np.broadcast_shapes(spec_of(base).shape, known.shape)
        base = builder.emit(R.reshape(base, shape))
        square = builder.emit(R.multiply(base, base))
        return square if known.item() == 2 else R.multiply(square, base)
    if known is not None:
        # A number of no axes would be written into the code: LLVM makes of some powers a root or a
        # quotient, whose last bits are others, and TVM warns of some.
        exponent = relax.const(np.atleast_1d(known).astype(dtype), dtype)
        result = builder.emit(R.power(base, exponent))
        shape = np.broadcast_shapes(spec_of(base).shape, known.shape)
        return result if spec_of(result).shape == shape else R.reshape(result, shape)
    if spec_of(exponent).dtype != dtype:
        exponent = builder.emit(R.astype(exponent, dtype))
    return R.power(base, exponent)
