"""Shape."""

from __future__ import annotations

from typing import Any

import numpy as np
from tvm import relax

from frontends.onnx.converters.registry import Operands, converter, operands_of
from qnn_ops.registry import spec_of


@converter("Shape")
def _shape(
    _builder: relax.BlockBuilder, operands: Operands, attributes: dict[str, Any]
) -> relax.Expr:
    """Return a constant: all shapes are known here, also those that the package did not infer."""
    (data,) = operands_of(operands, 1)
    shape = spec_of(data).shape[attributes.get("start", 0) : attributes.get("end")]
    return relax.const(np.array(shape, np.int64), "int64")
