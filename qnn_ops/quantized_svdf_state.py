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
    "sums",
    "state",
    traits=FIXED,
)
def quantized_svdf_state(
    sums: relax.Expr,
    state: relax.Expr,
    input_scale: float,
    weights_scale: float,
    state_scale: float,
    state_zero_point: int,
) -> relax.Call:
    """Forget each filter's oldest value, and remember the one that a sum stands for.

    Source of the arithmetic: EvalIntegerSVDF of TFLite's kernels/internal/reference/svdf.h; with
    an int8 state that of TensorFlow Lite Micro's kernels/svdf_common.cc. The multiplier is computed
    in float32.

    Args:
        sums: int32, [batch, filters]: products of the data and each filter's weights, added up.
        state: int16 or int8, [batch, filters * steps]: the values of each filter, the newest last.
        input_scale: real value of one step of the data.
        weights_scale: real value of one step of the weights.
        state_scale: real value of one step of the state.
        state_zero_point: the state's integer that means 0; 0 for int16.

    Returns:
        A call whose result has the state's shape and dtype.

    Raises:
        QnnError: if a dtype, a shape or the quantization does not fit.
    """
    return quantized_svdf_state.call(
        [sums, state],
        input_scale=scale_attr(input_scale),
        weights_scale=scale_attr(weights_scale),
        state_scale=scale_attr(state_scale),
        state_zero_point=zero_point_attr(state_zero_point),
    )


@quantized_svdf_state.type_rule
def _type(attrs: Attrs, sums: TensorSpec, state: TensorSpec) -> TensorSpec:
    check_dtype("sums", sums.dtype, ("int32",))
    check_dtype("state", state.dtype, STATES)
    for name, spec in (("sums", sums), ("state", state)):
        check_rank(name, spec, 2)
    if 0 in (*sums.shape, *state.shape):
        raise QnnError(f"{sums.shape} and {state.shape} must have elements")
    if state.shape[0] != sums.shape[0] or state.shape[1] % sums.shape[1]:
        raise QnnError(f"sums {sums.shape} and state {state.shape} do not fit")
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
def _reference(attrs: Attrs, sums: Array, state: Array) -> Array:
    filters, dtype = sums.shape[1], str(state.dtype)
    newest = scale_down(
        sums,
        np.asarray(state_multiplier(attrs)),
        "tflite",
        attrs.state_zero_point,
        dtype_range(dtype),
        dtype,
    )
    past = state.reshape(len(state), filters, -1)[:, :, 1:]
    return np.concatenate([past, newest[:, :, np.newaxis]], axis=2).reshape(state.shape)
