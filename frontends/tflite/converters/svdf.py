"""SVDF."""

from __future__ import annotations

from collections.abc import Callable

from tvm import relax

from frontends.errors import UnsupportedError
from frontends.tflite.converters.context import Context, per_tensor
from frontends.tflite.converters.hybrid import SUMS
from frontends.tflite.converters.kernels import bias_of
from frontends.tflite.converters.registry import data_converter
from frontends.tflite.converters.svdf_floats import float_svdf, hybrid_svdf
from frontends.tflite.options import SVDFOptions
from qnn_ops import quantized_dense, quantized_svdf, quantized_svdf_state
from qnn_ops.errors import QnnError


@data_converter("SVDF")
def convert_svdf(ctx: Context) -> relax.Expr:
    """Filter over time, by the rule for the types of data, weights of both kinds, and state."""
    data, features, times, state = (ctx.input(position) for position in (0, 1, 2, 4))
    dtypes = tuple(operand.tensor.dtype for operand in (data, features, times, state))
    if dtypes not in _RULES:
        raise UnsupportedError(
            f"of {dtypes[0]} data, weights {', '.join(dtypes[1:3])} and a state {dtypes[3]}"
        )
    if not data.shape:
        raise QnnError(f"{data.tensor.label} is a scalar, and no rows of data")
    if not state.tensor.is_variable:
        raise QnnError(f"the state {state.tensor.label} is no variable tensor")
    return _RULES[dtypes](ctx)


def _integer_svdf(ctx: Context) -> relax.Expr:
    """Filter in integers; the fused activation is in the result's quantization, as in LiteRT."""
    options = ctx.options(SVDFOptions)
    data, features, times, state = (ctx.input(position) for position in (0, 1, 2, 4))
    if options.activation != "RELU":  # LiteRT runs no other
        raise UnsupportedError(f"fused activation {options.activation}")
    state_scale, state_zero_point = state.quantization
    # LiteRT reads no zero point of an int16 state.
    state_zero_point = 0 if state.tensor.dtype == "int16" else state_zero_point
    (data_scale, data_zero_point), (weights_scale, _) = data.quantization, features.quantization
    sums = quantized_dense(data.expr, features.expr, 1.0, data_zero_point, *SUMS[2:])
    ctx.values.change(
        state.tensor,
        quantized_svdf_state(
            ctx.builder.emit(sums),
            state.expr,
            data_scale,
            weights_scale,
            state_scale,
            state_zero_point,
        ),
    )
    (times_scale, _), (scale, zero_point) = times.quantization, per_tensor(ctx.output())
    return quantized_svdf(
        ctx.values.of(state.tensor),
        times.expr,
        options.rank,
        state_scale,
        state_zero_point,
        times_scale,
        scale,
        zero_point,
        bias=bias_of(ctx, 3),
    )


_RULES: dict[tuple[str, ...], Callable[[Context], relax.Expr]] = {
    ("int8", "int8", "int16", "int16"): _integer_svdf,
    ("int8", "int8", "int8", "int8"): _integer_svdf,
    ("float32", "float32", "float32", "float32"): float_svdf,
    ("float32", "int8", "int8", "float32"): hybrid_svdf,
    ("float32", "uint8", "uint8", "float32"): hybrid_svdf,
}
