"""SVDF: in integers, of float32, and hybrid."""

from collections.abc import Callable
from typing import Any

import numpy as np
from tvm import relax

from frontends.errors import UnsupportedError
from frontends.tflite.converters.context import Context, per_tensor
from frontends.tflite.converters.layers import hybrid
from frontends.tflite.converters.layers.convolution import bias_of
from frontends.tflite.converters.scales import check_real
from frontends.tflite.operators import OPERATORS, Row
from qnn_ops import quantized_dense, quantized_svdf, quantized_svdf_state
from qnn_ops.errors import QnnError


def float_svdf(ctx: Context) -> Any:
    """Return a filter over time of float32.

    Source of the arithmetic: EvalFloatSVDF of TFLite's kernels/internal/reference/svdf.h.
    """
    newest = ctx.array(0) @ np.transpose(ctx.array(1))
    return _weighed(ctx, newest, ctx.input(2).expr)


def hybrid_svdf(ctx: Context) -> Any:
    """Return a filter over time whose data is quantized row by row.

    Source of the arithmetic: EvalHybridSVDF of TFLite's kernels/internal/reference/svdf.h. The
    memory is exact. Weights of time are the float32 values of their bytes.
    """
    weights, array = hybrid.weights_of(ctx, 1)
    sums, scales = array.sum(axis=1), hybrid.scales_of(ctx, 1, 1)
    newest = hybrid.dense_product(ctx, ctx.input(0).expr, weights, sums, scales)
    times = ctx.tensor(2)
    array = hybrid.weights_of(ctx, 2)[1].astype("float32") * hybrid.scales_of(ctx, 2, 1)
    return _weighed(ctx, newest, ctx.values.add_constant(times, "_real", array))


def _weighed(ctx: Context, newest: Any, times: relax.Expr) -> Any:
    """Store the newest values, and return the weighted stored values."""
    options, state, array = ctx.options, ctx.input(4), ctx.builder.array
    check_real([ctx.output()])
    filters, steps = _checked(ctx, options.rank)
    values = newest.reshape(state.shape[0], filters, 1)
    if steps > 1:
        past = array(state.expr).reshape(state.shape[0], filters, steps)
        values = np.concatenate([past[:, :, 1:], values], 2)
    ctx.values.change(state.tensor, values.reshape(*state.shape).expr)
    shape = filters // options.rank, options.rank * steps
    rows = array(ctx.values.of(state.tensor)).reshape(state.shape[0], *shape)
    sums = (rows * array(times).reshape(*shape)).sum(2, np.float32)
    return hybrid.bent(ctx, options.activation, hybrid.with_bias(ctx, sums, 3))


def _checked(ctx: Context, rank: int) -> tuple[int, int]:
    """Return the numbers of filters and of steps.

    Raises:
        QnnError: the operands do not fit together.
    """
    data, features, times, state = (ctx.input(index).shape for index in (0, 1, 2, 4))
    shapes = [data, features, times, state]
    if any(len(shape) != 2 or 0 in shape for shape in shapes):
        raise QnnError(f"needs operands of 2 dimensions that have elements, got {shapes}")
    (filters, steps), batch = times, data[0]
    if features != (filters, data[1]) or state != (batch, filters * steps):
        raise QnnError(f"data, weights and state do not fit, got {shapes}")
    if rank < 1 or filters % rank:
        raise QnnError(f"rank must divide the {filters} filters, got {rank}")
    if ctx.has(3) and ctx.input(3).shape != (filters // rank,):
        raise QnnError(f"needs a bias of {filters // rank}, got {ctx.input(3).shape}")
    return filters, steps


def convert_svdf(ctx: Context) -> relax.Expr:
    """Filter over time, by the rule for the types of data, weights of both kinds, and state."""
    data, features, times, state = (ctx.input(position) for position in (0, 1, 2, 4))
    dtypes = tuple(operand.dtype for operand in (data, features, times, state))
    if dtypes not in _RULES:
        raise UnsupportedError(f"of data, weights and a state of {', '.join(dtypes)}")
    if not data.shape:
        raise QnnError(f"{data.label} is a scalar, and no rows of data")
    if not state.tensor.is_variable:
        raise QnnError(f"the state {state.label} is no variable tensor")
    return _RULES[dtypes](ctx)


def _integer_svdf(ctx: Context) -> relax.Expr:
    """Filter in integers; the result's quantization contains the fused activation, as in LiteRT."""
    options = ctx.options
    data, features, times, state = (ctx.input(position) for position in (0, 1, 2, 4))
    if options.activation != "RELU":  # LiteRT runs no other activation
        raise UnsupportedError(f"fused activation {options.activation}")
    state_scale, state_zero_point = state.quantization
    # LiteRT reads no zero point of an int16 state.
    state_zero_point = 0 if state.dtype == "int16" else state_zero_point
    (data_scale, data_zero_point), (weights_scale, _) = data.quantization, features.quantization
    sums = quantized_dense(data.expr, features.expr, 1.0, data_zero_point, *hybrid.SUMS[2:])
    scales = (data_scale, weights_scale, state_scale)
    new = quantized_svdf_state(ctx.emit(sums), state.expr, *scales, state_zero_point)
    ctx.values.change(state.tensor, new)
    kept, bias = ctx.values.of(state.tensor), bias_of(ctx, 3)
    encodings = (state_scale, state_zero_point, times.quantization[0], *per_tensor(ctx.output()))
    return quantized_svdf(kept, times.expr, options.rank, *encodings, bias=bias)


_RULES: dict[tuple[str, ...], Callable[[Context], relax.Expr]] = {
    ("int8", "int8", "int16", "int16"): _integer_svdf,
    ("int8", "int8", "int8", "int8"): _integer_svdf,
    ("float32", "float32", "float32", "float32"): float_svdf,
    ("float32", "int8", "int8", "float32"): hybrid_svdf,
    ("float32", "uint8", "uint8", "float32"): hybrid_svdf,
}


OPERATORS["SVDF"] = Row(data=convert_svdf)
