"""The "onednn" rounding of sums as Relax operators; the counterpart of qnn_ops.float_epilogue."""

from __future__ import annotations

from typing import Any

import numpy as np
from tvm import relax
from tvm.relax import op as R

from legalize.primitives.fixed_point import const, saturate
from legalize.primitives.fused_multiply_add import multiply_add
from qnn_ops.float_epilogue import addend_multiplier
from qnn_ops.registry import Attrs

Array = np.ndarray[Any, Any]


def float_epilogue(
    builder: relax.BlockBuilder,
    attrs: Attrs,
    accumulator: relax.Expr,
    bias: relax.Expr | None,
    multiplier: Array | float,
    addend: relax.Expr | None = None,
) -> relax.Expr:
    """Turn int32 sums into an operator's result.

    Args:
        builder: of the function.
        attrs: of the call.
        accumulator: int32 expression, without the bias.
        bias: int32 expression that broadcasts with it.
        multiplier: how many steps of the result a step of the sum is, broadcasting likewise.
        addend: the operand of that name, shaped as the sums.
    """
    sums = R.astype(accumulator, "float32")
    if bias is not None:
        sums = R.add(sums, R.astype(bias, "float32"))
    bounds = (attrs.out_min, attrs.out_max)
    if attrs.out_dtype == "int32":
        # Bounded so that the cast is defined; float32 has no 2^31 - 1, so that comes after it.
        whole = R.clip(R.round(sums), -2147483648.0, 2147483648.0)
        return saturate(R.astype(whole, "int64"), bounds, "int32")
    scaled = R.multiply(sums, const(multiplier, "float32"))
    if addend is not None:
        if attrs.relu_before_addend:
            scaled = R.maximum(scaled, const(0, "float32"))
        centred = R.subtract(R.astype(addend, "int32"), const(attrs.addend_zero_point, "int32"))
        factor = const(addend_multiplier(attrs), "float32")
        scaled = multiply_add(builder, R.astype(centred, "float32"), factor, scaled)
    zero_point = attrs.output_zero_point
    # Integers of so few bits are exact in float32; bounded there, the cast is defined.
    low, high = (float(bound - zero_point) for bound in bounds)
    whole = R.astype(R.clip(R.round(scaled), low, high), "int32")
    return R.astype(R.add(whole, const(zero_point, "int32")), attrs.out_dtype)
