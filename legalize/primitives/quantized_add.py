"""quantized_add in Relax primitives."""

from __future__ import annotations

from tvm import relax

from legalize.primitives.elementwise import lower_sum
from legalize.primitives.onnxruntime import sum_onnxruntime
from legalize.primitives.registry import primitive
from legalize.primitives.xnnpack import sum_xnnpack
from qnn_ops.onnxruntime import is_onnxruntime
from qnn_ops.quantized_binary import quantized_add
from qnn_ops.registry import Attrs
from qnn_ops.xnnpack import is_xnnpack


@primitive(quantized_add)
def _quantized_add(
    builder: relax.BlockBuilder, attrs: Attrs, lhs: relax.Expr, rhs: relax.Expr
) -> relax.Expr:
    if is_onnxruntime(attrs):
        return sum_onnxruntime(builder, attrs, lhs, rhs)
    if is_xnnpack(attrs):
        return sum_xnnpack(attrs, lhs, rhs)
    return lower_sum(builder, attrs, lhs, rhs, 1)
