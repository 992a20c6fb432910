"""quantized_relu in Relax primitives."""

from __future__ import annotations

from tvm import relax
from tvm.relax import op as R

from legalize.primitives.fixed_point import const, scale_down
from legalize.primitives.registry import primitive
from qnn_ops.quantized_relu import quantized_relu, relu_bounds, relu_multiplier
from qnn_ops.registry import Attrs


@primitive(quantized_relu)
def _quantized_relu(builder: relax.BlockBuilder, attrs: Attrs, data: relax.Expr) -> relax.Expr:
    if relu_multiplier(attrs) == 1:
        # Rescaling by exactly one changes nothing. 16 bits hold what two zero points move by.
        move = const(attrs.output_zero_point - attrs.input_zero_point, "int16")
        moved = R.add(R.astype(data, "int16"), move)
        low, high = (const(bound, "int16") for bound in relu_bounds(attrs))
        return R.astype(R.minimum(R.maximum(moved, low), high), attrs.out_dtype)
    return scale_down(
        builder,
        R.subtract(R.astype(data, "int32"), const(attrs.input_zero_point, "int32")),
        relu_multiplier(attrs),
        "tflite",
        attrs.output_zero_point,
        relu_bounds(attrs),
        attrs.out_dtype,
    )
