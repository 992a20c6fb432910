"""dequantize in Relax primitives."""

from __future__ import annotations

from tvm import relax
from tvm.relax import op as R

from legalize.primitives.fixed_point import const
from legalize.primitives.registry import primitive
from qnn_ops.attributes import per_axis
from qnn_ops.dequantize import dequantize
from qnn_ops.registry import Attrs, spec_of


@primitive(dequantize)
def _dequantize(_builder: relax.BlockBuilder, attrs: Attrs, data: relax.Expr) -> relax.Expr:
    rank = len(spec_of(data).shape)
    zero_point = const(per_axis(attrs.zero_point, attrs.axis, rank), "int64")
    steps = R.astype(R.subtract(R.astype(data, "int64"), zero_point), "float32")
    return R.multiply(steps, const(per_axis(attrs.scale, attrs.axis, rank), "float32"))
