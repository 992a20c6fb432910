"""Gelu."""

from __future__ import annotations

from typing import Any

import numpy as np
from tvm import relax
from tvm.relax import op as R

from frontends.errors import UnsupportedError
from frontends.onnx.converters.registry import Operands, converter, operands_of
from qnn_ops import float_function

_LINEAR = 0.7978845608028654
"""The root of 2 / π."""


@converter("Gelu")
def _gelu(
    builder: relax.BlockBuilder, operands: Operands, attributes: dict[str, Any]
) -> relax.Expr:
    """Return half of the data, times 1 plus the error function of the data times √½.

    Or 1 plus the hyperbolic tangent of a cubic function of the data, with ONNX Runtime's factors.
    """
    approximation = attributes.get("approximate", b"none")
    if approximation not in (b"none", b"tanh"):
        raise UnsupportedError(f"the approximation {approximation!r} is not known")
    (data,) = operands_of(operands, 1)
    root, one, half = (relax.const(np.float32(number)) for number in (0.5**0.5, 1, 0.5))
    if approximation == b"none":
        shape = R.erf(builder.emit(R.multiply(data, root)))
    else:
        cubic, linear = (relax.const(np.float32(n)) for n in (0.035677408136300125, _LINEAR))
        square = builder.emit(R.multiply(builder.emit(R.multiply(cubic, data)), data))
        inner = R.multiply(data, builder.emit(R.add(square, linear)))
        shape = float_function(builder.emit(inner), "onnxruntime_tanh")
    factor = R.add(builder.emit(shape), one)
    return R.multiply(R.multiply(half, data), factor)
