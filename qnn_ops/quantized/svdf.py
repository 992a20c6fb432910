"""A filter over time of low rank (SVDF): its memory and its result."""

from typing import Annotated

import numpy as np
from tvm import relax

from qnn_ops.arithmetic.fixed_point import float32_quotient
from qnn_ops.arithmetic.rounding import check_multiplier, scale_down
from qnn_ops.arrays import Array
from qnn_ops.dialect import declared
from qnn_ops.dialect.attributes import dtype_range
from qnn_ops.dialect.checks import check_dtype, check_quantization
from qnn_ops.dialect.registry import Attrs, TensorSpec, operator
from qnn_ops.dialect.traits import FIXED
from qnn_ops.errors import QnnError

STATES = ("int16", "int8")


@operator(traits=FIXED, overflows=False)
def quantized_svdf_state(
    sums: Annotated[relax.Expr, declared.Tensor(("int32",), 2)],
    state: Annotated[relax.Expr, declared.Tensor(STATES, 2)],
    input_scale: declared.InputScale,
    weights_scale: declared.OneScale,
    state_scale: declared.OneScale,
    state_zero_point: declared.OnePoint,
) -> None:
    """Drop each filter's oldest value, and append the quantized sum as its newest.

    Source of the arithmetic: EvalIntegerSVDF of TFLite's kernels/internal/reference/svdf.h; for
    an int8 state that of TensorFlow Lite Micro's kernels/svdf_common.cc. The multiplier is computed
    in float32.

    Args:
        sums: int32, [batch, filters]: sums of products of the data and each filter's weights.
        state: int16 or int8, [batch, filters * steps]: the values of each filter, the newest last.
        weights_scale: real value of one step of the weights.
        state_scale: real value of one step of the state.
        state_zero_point: the state's integer that means 0; 0 for int16.

    Returns:
        A call whose result has the state's shape and dtype.
    """


@quantized_svdf_state.type_rule
def _quantized_svdf_state_type(attrs: Attrs, sums: TensorSpec, state: TensorSpec) -> TensorSpec:
    if 0 in (*sums.shape, *state.shape):
        raise QnnError(f"{sums.shape} and {state.shape} must have elements")
    if state.shape[0] != sums.shape[0] or state.shape[1] % sums.shape[1]:
        raise QnnError(f"sums {sums.shape} and state {state.shape} do not fit")
    check_quantization("state", attrs.state_scale, attrs.state_zero_point, state.dtype)
    if state.dtype == "int16" and attrs.state_zero_point:
        raise QnnError(f"state_zero_point of int16 must be 0, got {attrs.state_zero_point}")
    check_multiplier(state_multiplier(attrs), "tflite")
    return state


def state_multiplier(attrs: Attrs) -> float:
    """Return the multiplier that turns sums into the state's values."""
    return float32_quotient((attrs.input_scale, attrs.weights_scale), attrs.state_scale)


@quantized_svdf_state.reference
def _quantized_svdf_state_reference(attrs: Attrs, sums: Array, state: Array) -> Array:
    (batch, filters), dtype = sums.shape, str(state.dtype)
    multiplier, bounds = state_multiplier(attrs), dtype_range(dtype)
    newest = scale_down(sums, multiplier, "tflite", attrs.state_zero_point, bounds, dtype)
    newest = newest.reshape(batch, filters, 1)
    if state.shape[1] == filters:
        return newest.reshape(*state.shape)
    past = state.reshape(batch, filters, -1)[..., 1:]
    return np.concatenate([past, newest], axis=2).reshape(*state.shape)


@operator(traits=FIXED, overflows=False)
def quantized_svdf(
    state: Annotated[relax.Expr, declared.Tensor(STATES, 2)],
    weights_time: Annotated[relax.Expr, declared.Tensor((), 2)],
    rank: declared.Int,
    state_scale: declared.OneScale,
    state_zero_point: declared.OnePoint,
    weights_scale: declared.OneScale,
    output_scale: declared.OutputScale,
    output_zero_point: declared.OutputZeroPoint,
    bias: relax.Expr | None = None,
) -> None:
    """Weight each filter's values over time, and add ``rank`` neighbouring filters.

    Source of the arithmetic: EvalIntegerSVDF of TFLite's kernels/internal/reference/svdf.h; with
    an int8 state that of TensorFlow Lite Micro's kernels/svdf_common.cc. The multiplier is computed
    in float32, the sums in int32, which wraps.

    Args:
        state: int16 or int8, [batch, filters * steps], from ``quantized_svdf_state``.
        weights_time: [filters, steps], of the state's dtype.
        rank: the number of filters of one result.
        state_scale: real value of one step of the state.
        state_zero_point: the state's integer that means 0; 0 for int16.
        weights_scale: real value of one step of the weights.
        output_zero_point: the result's integer that means 0.
        bias: int32, [filters / rank], or None.

    Returns:
        A call whose result is int8, [batch, filters / rank].
    """


@quantized_svdf.type_rule
def _quantized_svdf_type(
    attrs: Attrs, state: TensorSpec, weights: TensorSpec, bias: TensorSpec | None = None
) -> TensorSpec:
    check_dtype("weights_time", weights.dtype, (state.dtype,))
    filters, steps = weights.shape
    if attrs.rank < 1 or filters % attrs.rank:
        raise QnnError(f"rank must divide the {filters} filters, got {attrs.rank}")
    if state.shape[1] != filters * steps or 0 in (*state.shape, *weights.shape):
        raise QnnError(f"state {state.shape} does not fit weights_time {weights.shape}")
    units = filters // attrs.rank
    if bias is not None and bias != TensorSpec((units,), "int32"):
        raise QnnError(f"bias must be int32 of shape {(units,)}, got {bias.dtype} {bias.shape}")
    check_quantization("state", attrs.state_scale, attrs.state_zero_point, state.dtype)
    check_quantization("output", attrs.output_scale, attrs.output_zero_point, "int8")
    check_multiplier(output_multiplier(attrs), "tflite")
    return TensorSpec((state.shape[0], units), "int8")


def output_multiplier(attrs: Attrs) -> float:
    """Return the multiplier that turns sums into results."""
    return float32_quotient((attrs.state_scale, attrs.weights_scale), attrs.output_scale)


@quantized_svdf.reference
def _quantized_svdf_reference(
    attrs: Attrs, state: Array, weights: Array, bias: Array | None = None
) -> Array:
    units, steps = weights.shape[0] // attrs.rank, weights.shape[1]
    centred = state.astype(np.int32) - attrs.state_zero_point
    # The filters of a result follow one another, so its sum goes over neighbours.
    past = centred.reshape(state.shape[0], units, attrs.rank * steps)
    kernel = weights.astype(np.int32).reshape(units, attrs.rank * steps)
    sums = (past * kernel).sum(axis=2, dtype=np.int32)
    sums = sums if bias is None else sums + bias
    multiplier, bounds = output_multiplier(attrs), dtype_range("int8")
    return scale_down(sums, multiplier, "tflite", attrs.output_zero_point, bounds, "int8")
