"""The memory of a filter over time of low rank (SVDF)."""

from __future__ import annotations

from typing import Any

import numpy as np
from tvm import relax

from qnn_ops.attributes import dtype_range, scale_attr, zero_point_attr
from qnn_ops.checks import check_dtype, check_quantization, check_rank
from qnn_ops.errors import QnnError
from qnn_ops.registry import Attrs, TensorSpec, cannot_overflow, operator
from qnn_ops.rounding import check_multiplier, scale_down
from qnn_ops.traits import FIXED

Array = np.ndarray[Any, Any]

STATES = ("int16", "int8")


def float32_ratio(first: float, second: float, divisor: float) -> float:
    """Return first * second / divisor, rounded to float32 at each step."""
    with np.errstate(over="ignore"):
        return float(np.float32(first) * np.float32(second) / np.float32(divisor))


@operator(
    "quantized_data",
    "weights_feature",
    "state",
    traits=FIXED,
)
def quantized_svdf_state(
    quantized_data: relax.Expr,
    weights_feature: relax.Expr,
    state: relax.Expr,
    input_scale: float,
    input_zero_point: int,
    weights_scale: float,
    state_scale: float,
    state_zero_point: int,
) -> relax.Call:
    """Forget each filter's oldest value, and remember what it gives for the data.

    Source of the arithmetic: EvalIntegerSVDF of TFLite's kernels/internal/reference/svdf.h; with
    an int8 state that of TensorFlow Lite Micro's kernels/svdf_common.cc. The multiplier is computed
    in float32, the sums in int32, which wraps.

    Args:
        quantized_data: int8, [batch, size].
        weights_feature: int8, [filters, size].
        state: int16 or int8, [batch, filters * steps]: the values of each filter, the newest last.
        input_scale: real value of one step of the data.
        input_zero_point: the data's integer that means 0.
        weights_scale: real value of one step of the weights.
        state_scale: real value of one step of the state.
        state_zero_point: the state's integer that means 0; 0 for int16.

    Returns:
        A call whose result has the state's shape and dtype.

    Raises:
        QnnError: if a dtype, a shape or the quantization does not fit.
    """
    return quantized_svdf_state.call(
        [quantized_data, weights_feature, state],
        input_scale=scale_attr(input_scale),
        input_zero_point=zero_point_attr(input_zero_point),
        weights_scale=scale_attr(weights_scale),
        state_scale=scale_attr(state_scale),
        state_zero_point=zero_point_attr(state_zero_point),
    )


@quantized_svdf_state.type_rule
def _type(attrs: Attrs, data: TensorSpec, weights: TensorSpec, state: TensorSpec) -> TensorSpec:
    check_dtype("quantized_data", data.dtype, ("int8",))
    check_dtype("weights_feature", weights.dtype, ("int8",))
    check_dtype("state", state.dtype, STATES)
    for name, spec in (("quantized_data", data), ("weights_feature", weights), ("state", state)):
        check_rank(name, spec, 2)
    (batch, size), (filters, width) = data.shape, weights.shape
    if 0 in (*data.shape, *weights.shape, *state.shape):
        raise QnnError(f"{data.shape}, {weights.shape} and {state.shape} must have elements")
    if size != width or state.shape[0] != batch or state.shape[1] % filters:
        raise QnnError(
            f"data {data.shape}, weights_feature {weights.shape} and state {state.shape} do not fit"
        )
    check_quantization("input", attrs.input_scale, attrs.input_zero_point, data.dtype)
    check_quantization("state", attrs.state_scale, attrs.state_zero_point, state.dtype)
    if state.dtype == "int16" and attrs.state_zero_point:
        raise QnnError(f"state_zero_point of int16 must be 0, got {attrs.state_zero_point}")
    check_multiplier(state_multiplier(attrs), "tflite")
    return state


quantized_svdf_state.overflow_rule(cannot_overflow)


def state_multiplier(attrs: Attrs) -> float:
    """Return the multiplier that turns sums into the state's values."""
    return float32_ratio(attrs.input_scale, attrs.weights_scale, attrs.state_scale)


@quantized_svdf_state.reference
def _reference(attrs: Attrs, data: Array, weights: Array, state: Array) -> Array:
    filters, dtype = weights.shape[0], str(state.dtype)
    sums = (data.astype(np.int64) - attrs.input_zero_point) @ weights.T.astype(np.int64)
    newest = scale_down(
        sums.astype(np.int32),
        np.asarray(state_multiplier(attrs)),
        "tflite",
        attrs.state_zero_point,
        dtype_range(dtype),
        dtype,
    )
    past = state.reshape(len(state), filters, -1)[:, :, 1:]
    return np.concatenate([past, newest[:, :, np.newaxis]], axis=2).reshape(state.shape)
