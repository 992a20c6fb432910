"""A fully connected layer of quantized tensors."""

from functools import partial
from typing import Annotated

import numpy as np
from tvm import relax

from qnn_ops.arithmetic.accumulator_bounds import Weights
from qnn_ops.arithmetic.rounding import SUM_ROUNDINGS
from qnn_ops.arithmetic.sums import (
    check_result,
    check_sum_types,
    check_sums,
    dense_factor,
    is_wide,
    result_of_sums,
)
from qnn_ops.arrays import Array
from qnn_ops.dialect import declared
from qnn_ops.dialect.checks import check_quantization
from qnn_ops.dialect.registry import Attrs, Known, TensorSpec, operator
from qnn_ops.dialect.traits import OF_DATA, Channels, rescaling
from qnn_ops.errors import QnnError


@operator(traits=rescaling(OF_DATA, Channels.LAST, clamps=True))
def quantized_dense(
    quantized_data: declared.Activations,
    quantized_weight: declared.WeightMatrix,
    input_scale: declared.InputScale,
    input_zero_point: declared.InputZeroPoint,
    kernel_scale: declared.KernelScale,
    kernel_zero_point: declared.KernelZeroPoint,
    output_scale: declared.OutputScale,
    output_zero_point: declared.OutputZeroPoint,
    out_dtype: declared.Text,
    units: declared.OptionalInt = None,
    *,
    bias: relax.Expr | None = None,
    out_min: declared.OutMin = None,
    out_max: declared.OutMax = None,
    rounding: Annotated[str, declared.choice(*SUM_ROUNDINGS)] = "float64",
) -> None:
    """Multiply the last axis of quantized data by a quantized weight matrix.

    The integer sum Σ(data - input_zero_point)(weight - kernel_zero_point) + bias, in int32
    (wrapping, as the frameworks' int32 does), is multiplied by
    input_scale * kernel_scale / output_scale (float64 throughout, or float32 with rounding
    "float32"), rounded as ``rounding`` says,
    offset by the output zero point and clamped.

    Source of the arithmetic: LiteRT's reference FULLY_CONNECTED, which scales in float64. Its
    CONV_2D scales differently, so a 1x1 convolution may differ by one. Sums of int16 data are 64
    bits wide, or wrap in 32 bits if the bias is int32.

    Args:
        quantized_data: int8, uint8 or int16, [..., K]: at least one axis.
        quantized_weight: int8 or uint8, [units, K]; constant, or computed by a run.
        kernel_scale: real value of one step of the weight, or one per unit.
        kernel_zero_point: the weight's value that means 0, or one per unit.
        output_scale: real value of one step of the result; unused for int32 results.
        output_zero_point: the result's value that means 0; unused for int32 results.
        out_dtype: int8 or uint8, or int32 for the sum itself; int16 for int16 data.
        units: if given, it is checked against the weight's shape.
        bias: int32 [units], for int16 data int32 or int64, in steps of input_scale * kernel_scale.
        rounding: "tflite", "upward", "float32" or "float64", see qnn_ops.arithmetic.rounding; or
            "onednn", as in ``quantized_conv2d``; for 64-bit sums "float64" or "reduced".

    Returns:
        A call whose result is [..., units] of ``out_dtype``.
    """


@quantized_dense.type_rule
def _type(
    attrs: Attrs, data: TensorSpec, weight: TensorSpec, bias: TensorSpec | None = None
) -> TensorSpec:
    units, depth = weight.shape
    if not data.shape:
        raise QnnError("quantized_data must have at least 1 dimension, got a scalar")
    if data.shape[-1] != depth:
        raise QnnError(
            f"the last axis of quantized_data has {data.shape[-1]} values, "
            f"quantized_weight takes {depth}"
        )
    if getattr(attrs, "units", units) != units:
        raise QnnError(f"units is {attrs.units}, the weight has {units}")
    check_quantization("input", attrs.input_scale, attrs.input_zero_point, data.dtype)
    check_quantization("kernel", attrs.kernel_scale, attrs.kernel_zero_point, weight.dtype, units)
    if bias is not None and bias.shape != (units,):
        raise QnnError(f"bias must have shape ({units},), got {bias.shape}")
    check_sum_types(attrs, data, weight, bias)
    check_result(attrs, dense_factor, weight.dtype)
    return TensorSpec((*data.shape[:-1], units), attrs.out_dtype)


@quantized_dense.reference
def _reference(attrs: Attrs, data: Array, weight: Array, bias: Array | None = None) -> Array:
    values = data.astype(np.int64) - attrs.input_zero_point
    weights = weight.astype(np.int64) - np.reshape(attrs.kernel_zero_point, (-1, 1))
    sums = values @ weights.T
    factor = dense_factor(attrs, str(weight.dtype))
    wide = is_wide(str(data.dtype), None if bias is None else str(bias.dtype))
    return result_of_sums(attrs, sums, bias, factor, wide=wide)


@quantized_dense.overflow_rule
def _overflow(
    attrs: Attrs, known: Known, data: TensorSpec, weight: TensorSpec, *bias: TensorSpec
) -> str:
    units, depth = weight.shape
    return check_sums(
        attrs,
        data,
        Weights(
            units,
            depth,
            weight.dtype,
            attrs.kernel_zero_point,
            partial(known, 1) if known.has(1) else None,
        ),
        partial(known, 2) if bias else None,
        dense_factor,
    )


quantized_fully_connected = quantized_dense
"""The operator's name in the RFC of TVM's dialect."""
