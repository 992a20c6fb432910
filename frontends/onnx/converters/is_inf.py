"""IsInf."""

from __future__ import annotations

from typing import Any

import numpy as np
from tvm import relax
from tvm.relax import op as R

from frontends.onnx.converters.registry import Operands, converter, operands_of
from qnn_ops.registry import spec_of


@converter("IsInf")
def _is_inf(
    builder: relax.BlockBuilder, operands: Operands, attributes: dict[str, Any]
) -> relax.Expr:
    """Tell whether numbers are infinite, of both signs or one."""
    (data,) = operands_of(operands, 1)
    spec = spec_of(data)
    wanted = {"positive": np.inf, "negative": -np.inf}
    found = [
        builder.emit(R.equal(data, relax.const(np.asarray(each, spec.dtype), spec.dtype)))
        for sign, each in wanted.items()
        if attributes.get(f"detect_{sign}", 1)
    ]
    if len(found) == 2:
        return R.logical_or(*found)
    return found[0] if found else relax.const(np.zeros(spec.shape, bool))
