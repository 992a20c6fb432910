"""Pow."""

from __future__ import annotations

from typing import Any

from tvm import relax
from tvm.relax import op as R

from frontends.errors import UnsupportedError
from frontends.onnx.converters.registry import Operands, converter, operands_of
from qnn_ops.registry import constant_of, spec_of


@converter("Pow")
def _pow(
    builder: relax.BlockBuilder, operands: Operands, _attributes: dict[str, Any]
) -> relax.Expr:
    """Return powers of real numbers, whose exponents may be integers."""
    base, exponent = operands_of(operands, 2)
    dtype = spec_of(base).dtype
    if not dtype.startswith("float"):
        raise UnsupportedError(f"its base must be a real number, got {dtype}")
    known = constant_of(exponent)
    if known is not None:
        exponent = relax.const(known.astype(dtype), dtype)
    elif spec_of(exponent).dtype != dtype:
        exponent = builder.emit(R.astype(exponent, dtype))
    return R.power(base, exponent)
