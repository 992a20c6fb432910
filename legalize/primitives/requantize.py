"""requantize in Relax primitives."""

from __future__ import annotations

from tvm import relax
from tvm.relax import op as R

from legalize.primitives.fixed_point import const, scale_down
from legalize.primitives.registry import primitive
from qnn_ops.attributes import per_axis
from qnn_ops.quantization import requantize
from qnn_ops.registry import Attrs, spec_of


@primitive(requantize)
def _requantize(builder: relax.BlockBuilder, attrs: Attrs, data: relax.Expr) -> relax.Expr:
    rank = len(spec_of(data).shape)

    centred = R.subtract(
        R.astype(data, "int32"), const(per_axis(attrs.input_zero_point, attrs.axis, rank), "int32")
    )
    return scale_down(
        builder,
        centred,
        per_axis(attrs.input_scale, attrs.axis, rank) / attrs.output_scale,
        attrs.rounding,
        attrs.output_zero_point,
        (attrs.out_min, attrs.out_max),
        attrs.out_dtype,
    )
