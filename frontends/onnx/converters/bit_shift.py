"""BitShift."""

from __future__ import annotations

from typing import Any

import numpy as np
from tvm import relax
from tvm.relax import op as R

from frontends.errors import UnsupportedError
from frontends.onnx.converters.registry import Operands, converter, operands_of
from qnn_ops.registry import spec_of


@converter("BitShift")
def _bit_shift(
    builder: relax.BlockBuilder, operands: Operands, attributes: dict[str, Any]
) -> relax.Expr:
    """Shift bits; by more than there are, or less than none, all of them go."""
    data, distance = operands_of(operands, 2)
    emit, dtype = builder.emit, spec_of(data).dtype
    direction = attributes.get("direction", b"").decode()
    if "int" not in dtype or direction not in ("LEFT", "RIGHT"):
        raise UnsupportedError(f"{dtype} in direction {direction!r}")
    info = np.iinfo(dtype)
    zero, last = (relax.const(np.asarray(each, dtype), dtype) for each in (0, info.bits - 1))
    is_within = R.less_equal(distance, last)
    if info.min:
        is_within = R.logical_and(is_within, R.greater_equal(distance, zero))
    is_within = emit(is_within)
    near = emit(R.where(is_within, distance, last))
    if direction == "RIGHT" and info.min:  # the sign is left
        return R.right_shift(data, near)
    shift = R.left_shift if direction == "LEFT" else R.right_shift
    return R.where(is_within, emit(shift(data, near)), zero)
