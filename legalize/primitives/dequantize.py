"""dequantize in Relax primitives."""

from __future__ import annotations

from tvm import relax
from tvm.relax import op as R

from legalize.primitives.fixed_point import const
from legalize.primitives.registry import primitive
from qnn_ops.attributes import per_axis
from qnn_ops.quantization import dequantize
from qnn_ops.registry import Attrs, constant_of, spec_of
from qnn_ops.rounded import rounded


@primitive(dequantize)
def _dequantize(builder: relax.BlockBuilder, attrs: Attrs, data: relax.Expr) -> relax.Expr:
    known = constant_of(data)
    if known is not None:  # numpy is sooner done than code for one run
        return relax.const(dequantize.apply(attrs, known), "float32")
    rank = len(spec_of(data).shape)
    zero_point = const(per_axis(attrs.zero_point, attrs.axis, rank), "int64")
    steps = R.astype(R.subtract(R.astype(data, "int64"), zero_point), "float32")
    scale = const(per_axis(attrs.scale, attrs.axis, rank), "float32")
    return rounded(builder.emit(R.multiply(steps, scale)))
