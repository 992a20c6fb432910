"""quantized_matmul in Relax primitives."""

from __future__ import annotations

from tvm import relax
from tvm.relax import op as R

from legalize.primitives.fixed_point import scale_down
from legalize.primitives.registry import primitive
from legalize.primitives.sums import centred, sum_dtype, wrapped
from qnn_ops.attributes import dtype_range
from qnn_ops.matmul import matmul_multiplier, quantized_matmul, rounding_of
from qnn_ops.registry import Attrs, spec_of


@primitive(quantized_matmul)
def _quantized_matmul(
    builder: relax.BlockBuilder, attrs: Attrs, lhs: relax.Expr, rhs: relax.Expr
) -> relax.Expr:
    data = spec_of(lhs)
    dtype = sum_dtype(data.shape[-1], data.dtype)
    right = centred(rhs, attrs.rhs_zero_point)
    if attrs.transpose_rhs:
        rank = len(spec_of(rhs).shape)
        right = R.permute_dims(right, [*range(rank - 2), rank - 1, rank - 2])
    # Apart: fused with what subtracts, it would subtract for each product anew.
    left, right = (builder.emit(each) for each in (centred(lhs, attrs.lhs_zero_point), right))
    sums = wrapped(R.matmul(left, right, out_dtype=dtype), dtype)
    how = matmul_multiplier(attrs), rounding_of(attrs), attrs.output_zero_point
    bounds = dtype_range(attrs.out_dtype)
    return scale_down(builder, builder.emit(sums), *how, bounds, attrs.out_dtype)
