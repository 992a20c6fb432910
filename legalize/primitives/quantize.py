"""quantize in Relax primitives."""

from __future__ import annotations

from tvm import relax
from tvm.relax import op as R

from legalize.primitives.fixed_point import const, round_half_away, saturate
from legalize.primitives.registry import primitive
from qnn_ops.attributes import dtype_range, per_axis
from qnn_ops.quantize import quantize
from qnn_ops.registry import Attrs, spec_of


@primitive(quantize)
def _quantize(builder: relax.BlockBuilder, attrs: Attrs, data: relax.Expr) -> relax.Expr:
    rank = len(spec_of(data).shape)
    steps = builder.emit(R.divide(data, const(per_axis(attrs.scale, attrs.axis, rank), "float32")))
    # NaN is not equal to itself; a cast of it to an integer would be undefined.
    steps = R.where(R.equal(steps, steps), round_half_away(builder, steps), const(0, "float32"))
    integer = R.astype(R.clip(steps, -(2.0**40), 2.0**40), "int64")
    zero_point = const(per_axis(attrs.zero_point, attrs.axis, rank), "int64")
    return saturate(R.add(integer, zero_point), dtype_range(attrs.out_dtype), attrs.out_dtype)
