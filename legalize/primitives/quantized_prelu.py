"""quantized_prelu in Relax primitives."""

from __future__ import annotations

from tvm import relax
from tvm.relax import op as R

from legalize.primitives.elementwise import centred
from legalize.primitives.fixed_point import const, multiply_by_quantized_multiplier, saturate
from legalize.primitives.registry import primitive
from qnn_ops.arithmetic import quantize_multiplier
from qnn_ops.quantized_binary import prelu_multipliers, quantized_prelu
from qnn_ops.registry import Attrs


@primitive(quantized_prelu)
def _quantized_prelu(
    builder: relax.BlockBuilder, attrs: Attrs, lhs: relax.Expr, rhs: relax.Expr
) -> relax.Expr:
    values = builder.emit(centred(lhs, attrs.lhs_zero_point))
    zero = const(0, "int32")
    products = R.multiply(R.minimum(values, zero), centred(rhs, attrs.rhs_zero_point))
    # One of them is 0, and stays it.
    kept, scaled = (
        multiply_by_quantized_multiplier(builder, value, *quantize_multiplier(multiplier))
        for value, multiplier in zip(
            (R.maximum(values, zero), products), prelu_multipliers(attrs), strict=True
        )
    )
    total = R.add(R.add(kept, scaled), const(attrs.output_zero_point, "int64"))
    return saturate(total, (attrs.out_min, attrs.out_max), attrs.out_dtype)
