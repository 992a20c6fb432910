"""quantized_squared_difference in Relax primitives."""

from __future__ import annotations

from tvm import relax
from tvm.relax import op as R

from legalize.primitives.elementwise import centred, scale_result
from legalize.primitives.fixed_point import const, multiply_by_quantized_multiplier
from legalize.primitives.registry import primitive
from qnn_ops.arithmetic import quantize_multiplier
from qnn_ops.quantized_binary import (
    SQUARE_SHIFT,
    quantized_squared_difference,
    square_multipliers,
)
from qnn_ops.registry import Attrs


@primitive(quantized_squared_difference)
def _quantized_squared_difference(
    builder: relax.BlockBuilder, attrs: Attrs, lhs: relax.Expr, rhs: relax.Expr
) -> relax.Expr:
    def on_common_scale(data: relax.Expr, zero_point: int, multiplier: float) -> relax.Expr:
        lifted = R.left_shift(centred(data, zero_point), const(SQUARE_SHIFT, "int32"))
        scaled = multiply_by_quantized_multiplier(builder, lifted, *quantize_multiplier(multiplier))
        return R.astype(scaled, "int32")

    left, right, result = square_multipliers(attrs)
    difference = builder.emit(
        R.subtract(
            on_common_scale(lhs, attrs.lhs_zero_point, left),
            on_common_scale(rhs, attrs.rhs_zero_point, right),
        )
    )
    return scale_result(builder, attrs, R.multiply(difference, difference), result)
