"""quantized_multiply in Relax primitives."""

from __future__ import annotations

from tvm import relax
from tvm.relax import op as R

from legalize.primitives.elementwise import centred
from legalize.primitives.fixed_point import (
    const,
    multiply_by_quantized_multiplier,
    saturate,
    scale_down,
)
from legalize.primitives.onnxruntime import product_onnxruntime
from legalize.primitives.registry import primitive
from qnn_ops.arithmetic import quantize_multiplier
from qnn_ops.elementwise import product_multiplier
from qnn_ops.onnxruntime import is_onnxruntime, product_factor
from qnn_ops.quantized_binary import quantized_multiply
from qnn_ops.registry import Attrs
from qnn_ops.xnnpack import is_xnnpack


@primitive(quantized_multiply)
def _quantized_multiply(
    builder: relax.BlockBuilder, attrs: Attrs, lhs: relax.Expr, rhs: relax.Expr
) -> relax.Expr:
    product = R.multiply(centred(lhs, attrs.lhs_zero_point), centred(rhs, attrs.rhs_zero_point))
    if is_onnxruntime(attrs):
        return product_onnxruntime(builder, attrs, product)
    bounds, point = (attrs.out_min, attrs.out_max), attrs.output_zero_point
    if is_xnnpack(attrs):
        factor = float(product_factor(attrs))
        return scale_down(builder, product, factor, "float32", point, bounds, attrs.out_dtype)
    multiplier, shift = quantize_multiplier(product_multiplier(attrs))
    scaled = multiply_by_quantized_multiplier(builder, product, multiplier, shift)
    # In int32, where the reference's sum wraps.
    moved = R.astype(R.add(scaled, const(point, "int64")), "int32")
    return saturate(R.astype(moved, "int64"), bounds, attrs.out_dtype)
