"""quantized_svdf and quantized_svdf_state in Relax primitives."""

from __future__ import annotations

from tvm import relax
from tvm.relax import op as R

from legalize.primitives.fixed_point import const, scale_down
from legalize.primitives.registry import primitive
from qnn_ops.attributes import dtype_range
from qnn_ops.quantized_svdf import (
    output_multiplier,
    quantized_svdf,
    quantized_svdf_state,
    state_multiplier,
)
from qnn_ops.registry import Attrs, spec_of


@primitive(quantized_svdf)
def _quantized_svdf(
    builder: relax.BlockBuilder,
    attrs: Attrs,
    state: relax.Expr,
    weights: relax.Expr,
    bias: relax.Expr | None = None,
) -> relax.Expr:
    batch, (filters, steps) = spec_of(state).shape[0], spec_of(weights).shape
    units = filters // attrs.rank
    centred = R.subtract(R.astype(state, "int32"), const(attrs.state_zero_point, "int32"))
    # The filters of a result follow one another, so its sum goes over neighbours.
    past = builder.emit(R.reshape(centred, (batch, units, attrs.rank * steps)))
    kernel = builder.emit(R.reshape(R.astype(weights, "int32"), (units, attrs.rank * steps)))
    sums = builder.emit(R.sum(R.multiply(past, kernel), [2]))
    if bias is not None:
        sums = builder.emit(R.add(sums, bias))
    multiplier, bounds = output_multiplier(attrs), dtype_range("int8")
    return scale_down(builder, sums, multiplier, "tflite", attrs.output_zero_point, bounds, "int8")


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
