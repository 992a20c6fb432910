"""quantized_svdf_state in Relax primitives."""

from __future__ import annotations

from tvm import relax
from tvm.relax import op as R

from legalize.primitives.fixed_point import scale_down
from legalize.primitives.registry import primitive
from qnn_ops.attributes import dtype_range
from qnn_ops.quantized_svdf import quantized_svdf_state, state_multiplier
from qnn_ops.registry import Attrs, spec_of


@primitive(quantized_svdf_state)
def _quantized_svdf_state(
    builder: relax.BlockBuilder,
    attrs: Attrs,
    sums: relax.Expr,
    state: relax.Expr,
) -> relax.Expr:
    (batch, length), dtype = spec_of(state).shape, spec_of(state).dtype
    filters = spec_of(sums).shape[1]
    steps = length // filters
    multiplier, bounds = state_multiplier(attrs), dtype_range(dtype)
    point = attrs.state_zero_point
    newest = scale_down(builder, sums, multiplier, "tflite", point, bounds, dtype)
    newest = builder.emit(R.reshape(builder.emit(newest), (batch, filters, 1)))
    if steps == 1:
        return R.reshape(newest, (batch, length))
    past = builder.emit(R.reshape(state, (batch, filters, steps)))
    past = builder.emit(R.strided_slice(past, [2], [1], [steps]))
    return R.reshape(builder.emit(R.concat([past, newest], 2)), (batch, length))
