"""Turns the sums of a convolution or a dense layer into its result.

Sums of int16 data are 64 bits wide, as in the kernels for 16-bit activations and 8-bit weights of
TFLite's reference CONV_2D, DEPTHWISE_CONV_2D and FULLY_CONNECTED. A bias of int32 makes them 32
bits wide.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from qnn_ops.arithmetic.accumulator_bounds import (
    Bounds,
    Weights,
    centred_bounds,
    check_product_sums,
    check_scaled,
)
from qnn_ops.arithmetic.fixed_point import conv_multiplier
from qnn_ops.arithmetic.float_epilogue import ONEDNN, float_epilogue
from qnn_ops.arithmetic.rounding import REDUCED, SUM_ROUNDINGS, check_multiplier, scale_result
from qnn_ops.arrays import Array, Float64Array
from qnn_ops.dialect.attributes import ACTIVATIONS
from qnn_ops.dialect.checks import (
    check_alike,
    check_bounds,
    check_choice,
    check_dtype,
    check_quantization,
)
from qnn_ops.dialect.registry import Attrs, TensorSpec
from qnn_ops.errors import QnnError

SUMS: dict[str, Any] = {
    "out_dtype": "int32",
    "out_min": -(2**31),
    "out_max": 2**31 - 1,
    "rounding": "tflite",
}
"""The attributes that a call has if its result is the sums themselves."""

Factor = Callable[[Attrs, str], Float64Array]
"""Returns a step of a call's sums in steps of its result, given the weights' dtype."""

_WIDE_ROUNDINGS = (REDUCED, "float64")

# The limit of TFLite's arithmetic: the product of a smaller sum and 15 bits fits 64 bits.
_LARGEST_SUM = 2**47


def conv_factor(attrs: Attrs, kernel_dtype: str) -> Float64Array:
    """Return a step of a convolution's sums in steps of its result; 1 for int32, the sums."""
    if attrs.out_dtype == "int32":
        return np.ones(())
    scales = attrs.input_scale, attrs.kernel_scale, attrs.output_scale
    return conv_multiplier(*scales, kernel_dtype, attrs.rounding)


def dense_factor(attrs: Attrs, _kernel_dtype: str) -> Float64Array:
    """Return a step of a dense layer's sums in steps of its result; 1 for int32, the sums.

    LiteRT's reference FULLY_CONNECTED keeps the product of the scales in float64, whatever the
    weights' dtype (FullyConnected of kernels/internal/reference/integer_ops/fully_connected.h).
    """
    return conv_factor(attrs, "int8")


def check_result(attrs: Attrs, factor: Factor, kernel_dtype: str) -> None:
    """Check dtype, bounds and quantization of a result, which is the sums or the scaled sums."""
    check_dtype("out_dtype", attrs.out_dtype, (*ACTIVATIONS, "int32"))
    check_bounds(attrs.out_dtype, attrs.out_min, attrs.out_max)
    if attrs.out_dtype != "int32":
        check_quantization("output", attrs.output_scale, attrs.output_zero_point, attrs.out_dtype)
        check_multiplier(factor(attrs, kernel_dtype), attrs.rounding)


def result_of_sums(
    attrs: Attrs,
    sums: Any,
    bias: Any,
    multiplier: Array | float,
    addend: Any = None,
    *,
    wide: bool = False,
) -> Any:
    """Compute an operator's result from its sums of products, by its ``rounding``.

    Args:
        attrs: the call's attributes.
        sums: integers without the bias; they wrap modulo 2^32 unless ``wide``. An array or an
            expression, as are the bias and the addend.
        bias: int32, or int64 if ``wide``, that broadcasts with the sums; or None.
        multiplier: how many steps of the result a step of the sum is; broadcasts with them; not
            used for int32 results, which are the sums.
        addend: for rounding "onednn", shaped as the sums.
        wide: whether the sums are 64 bits wide.
    """
    if attrs.rounding == ONEDNN:
        return float_epilogue(attrs, sums.astype(np.int32), bias, multiplier, addend)
    total = with_bias(sums, bias, wide=wide)
    if attrs.out_dtype == "int32":
        return np.clip(total.astype(np.int64), attrs.out_min, attrs.out_max).astype(np.int32)
    return scale_result(attrs, total, multiplier, attrs.rounding)


def with_bias(sums: Any, bias: Any, *, wide: bool = False) -> Any:
    """Add the bias modulo 2^32; to wide sums without wrapping."""
    # Do not add in uint32: TVM assumes that an int32 made from uint32 is not negative.
    total = sums if bias is None else sums.astype(np.int64) + bias.astype(np.int64)
    return total.astype(np.int64 if wide else np.int32)


def is_wide(data_dtype: str, bias_dtype: str | None) -> bool:
    """Tell whether the sums of a convolution or dense layer are 64 bits wide."""
    return data_dtype == "int16" and bias_dtype != "int32"


def check_sum_types(
    attrs: Attrs, data: TensorSpec, weights: TensorSpec, bias: TensorSpec | None
) -> None:
    """Raise unless the dtypes and the rounding of a convolution or dense layer go together."""
    if data.dtype == "int16":
        check_alike(
            {"out_dtype": attrs.out_dtype, "quantized_data": "int16"},
            {
                "input_zero_point": attrs.input_zero_point,
                "output_zero_point": attrs.output_zero_point,
            },
        )
        check_dtype("weights beside int16", weights.dtype, ("int8",))
    elif attrs.out_dtype == "int16":
        raise QnnError(f"out_dtype is int16, the data is {data.dtype}")
    if bias is not None:
        check_dtype("bias", bias.dtype, ("int32", "int64") if data.dtype == "int16" else ("int32",))
    if is_wide(data.dtype, None if bias is None else bias.dtype):
        check_choice("the rounding of 64-bit sums", attrs.rounding, _WIDE_ROUNDINGS)
    elif attrs.rounding == REDUCED:
        raise QnnError(f"rounding {REDUCED!r} needs int16 data, and no bias of int32")


def check_sums(
    attrs: Attrs,
    data: TensorSpec,
    weights: Weights,
    bias: Callable[[], Array] | None,
    factor: Factor,
) -> str:
    """Raise if the sums, or their scaled values, can leave the int32 of the model's framework.

    LiteRT's sums wrap, because it passes each of them to a function as an int32; the rounding tells
    whether sums are LiteRT's. Sums of int16 data are 64 bits wide, or wrap if the bias is int32.

    Args:
        attrs: the call's attributes.
        data: the first factor of the products.
        weights: the second factor.
        bias: returns int32 or int64, one per channel; None if there is no bias.
        factor: the operator's.

    Returns:
        The sum that wraps, and how far it goes; empty if none does.

    Raises:
        QnnError: a sum can leave int32; the error names the channel and how far its sum goes.
    """
    if data.dtype == "int16":
        values = None if bias is None else bias()
        if values is None or values.dtype == np.int64:
            check_wide_sums(attrs, weights, values, factor(attrs, weights.dtype))
        return ""
    scaling = None
    is_litert = SUM_ROUNDINGS[attrs.rounding].of_litert and attrs.out_dtype != "int32"
    if is_litert:
        scaling = partial(
            check_scaled,
            real_multiplier=factor(attrs, weights.dtype),
            rounding=attrs.rounding,
            zero_point=attrs.output_zero_point,
        )
    # oneDNN's epilogue takes sums without the bias, and saturates in float32.
    added = None if bias is None or attrs.rounding == ONEDNN else bias()
    centred = centred_bounds(data.dtype, attrs.input_zero_point)
    return check_product_sums(weights, centred, added, scaling, wraps=is_litert)


def check_wide_sums(
    attrs: Attrs, weights: Weights, bias: Array | None, multiplier: Float64Array
) -> None:
    """Raise if the sums, or their scaled values, can go where TFLite does not define them."""
    most = weights.depth * weights.largest * 2**15
    if bias is not None and bias.size:
        most += int(np.abs(bias.astype(np.float64)).max())
    if most >= _LARGEST_SUM:
        raise QnnError(f"the sums can reach {most}, TFLite defines them below 2^47")
    if attrs.rounding == "float64":
        sums = weights.sums(Bounds.of(-(2**15), 2**15 - 1))
        sums = sums if bias is None else sums + bias
        check_scaled(sums, multiplier, "float64", attrs.output_zero_point)
