"""_contrib_quantized_elemwise_add."""

from __future__ import annotations

from tvm import relax
from tvm.relax import op as R

from frontends.mxnet.converters.context import Context
from frontends.mxnet.converters.products import saturated_int32
from frontends.mxnet.converters.quantization import (
    Range,
    calibrated_range,
    check_quantized,
    quantized,
    range_at,
    real,
    rescaled,
)
from frontends.mxnet.converters.registry import converter
from frontends.mxnet.scalars import INT32_LEVELS, add, divide, levels, multiply, negative, scalar
from frontends.mxnet.values import Value
from qnn_ops.rounded import rounded


@converter("_contrib_quantized_elemwise_add")
def convert_quantized_elemwise_add(ctx: Context) -> list[Value]:
    """Add two tensors: to 8 bits by the calibrated range, or to 32 bits.

    Both are brought to the result's scale, and the sum is rounded; where one is uint8 and the other
    int8, the former is rounded to int8 before.
    """
    dtypes = [check_quantized(ctx, position) for position in (0, 1)]
    ranges = [range_at(ctx, 2), range_at(ctx, 4)]
    calibrated = calibrated_range(ctx)
    if calibrated is not None:
        dtype = "uint8" if dtypes == ["uint8", "uint8"] else "int8"
        steps = calibrated.steps_per_unit(dtype)
        factors = [
            divide(steps, divide(levels(own), bounds.magnitude))
            for own, bounds in zip(dtypes, ranges, strict=True)
        ]
        total = _sum(ctx, dtypes, factors)
        return [quantized(total, scalar(1), dtype), calibrated.low, calibrated.high]
    high = add(ranges[0].magnitude, ranges[1].magnitude)
    factors = [_int32_factor(own, bounds, high) for own, bounds in zip(dtypes, ranges, strict=True)]
    return [saturated_int32(_sum(ctx, dtypes, factors)), negative(high), high]


def _int32_factor(dtype: str, bounds: Range, high: Value) -> Value:
    """Compute how many steps of the 32-bit sum a step of a term is."""
    return divide(multiply(bounds.magnitude, INT32_LEVELS), multiply(high, levels(dtype)))


def _sum(ctx: Context, dtypes: list[str], factors: list[Value]) -> relax.Expr:
    terms = []
    for position, (dtype, factor) in enumerate(zip(dtypes, factors, strict=True)):
        data = ctx.expr(position)
        if len(set(dtypes)) > 1 and dtype == "uint8":
            integers = ctx.emit(rescaled(data, factor, "int8"))
            terms.append(R.astype(integers, "float32"))
            continue
        terms.append(rounded(ctx.emit(real(data, factor))))
    return ctx.emit(R.add(*terms))
