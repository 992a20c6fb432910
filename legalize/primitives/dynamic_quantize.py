"""dynamic_quantize in Relax primitives."""

from __future__ import annotations

from tvm import relax
from tvm.relax import op as R

from legalize.primitives.fixed_point import const, round_half_away
from legalize.primitives.registry import primitive
from qnn_ops.dynamic_quantization import LARGEST_STEPS, OFFSETS, dynamic_quantize
from qnn_ops.onnxruntime import is_onnxruntime
from qnn_ops.registry import Attrs


@primitive(dynamic_quantize)
def _dynamic_quantize(
    builder: relax.BlockBuilder, attrs: Attrs, data: relax.Expr, encoding: relax.Expr
) -> relax.Expr:
    points = builder.emit(R.strided_slice(encoding, [-1], [2], [3]))
    offset = const(OFFSETS[attrs.out_dtype], "int32")
    if is_onnxruntime(attrs):
        scales = builder.emit(R.strided_slice(encoding, [-1], [0], [1]))
        steps = builder.emit(R.divide(data, scales))
        low, high = (R.subtract(const(end, "float32"), points) for end in (-128, 127))
        steps = R.where(R.equal(steps, steps), steps, low)
        whole = R.round(R.minimum(R.maximum(steps, low), high))
        moved = R.add(R.astype(R.add(whole, points), "int32"), offset)
        return R.astype(moved, attrs.out_dtype)
    units = builder.emit(R.strided_slice(encoding, [-1], [1], [2]))
    steps = builder.emit(R.multiply(data, units))
    # NaN is not equal to itself; a cast of it to an integer would be undefined.
    steps = R.where(R.equal(steps, steps), steps, const(0, "float32"))
    whole = round_half_away(builder, R.clip(steps, -LARGEST_STEPS, LARGEST_STEPS))
    values = R.clip(R.add(whole, points), -128.0, 127.0)
    moved = R.add(R.astype(values, "int32"), offset)
    return R.astype(moved, attrs.out_dtype)
