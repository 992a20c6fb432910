"""Tables of functions that TFLite computes for int8 in special ways; see ``qnn_ops.tables.lookup``.

Arguments and results are those of ``qnn_ops.tables.lookup.unary_table``. If TFLite ends a run with
an error, such as for the root of a negative number, the entry is that of 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from qnn_ops.arithmetic.accumulator_bounds import Bounds, check_scaled
from qnn_ops.arithmetic.c_functions import by_c
from qnn_ops.arithmetic.fixed_point import (
    clamp_to,
    multiply_by_quantized_multiplier,
    quantize_multiplier,
)
from qnn_ops.arithmetic.inverse_sqrt import inverse_sqrt_multiplier
from qnn_ops.dialect.attributes import dtype_range
from qnn_ops.errors import QnnError
from qnn_ops.tables.lookup import Float32Array, Table, centred_inputs, unary_table

_RSQRT_SHIFT = 20
_HALF_SQRT = np.float32(-math.sqrt(0.5))
_SQRT_2_BY_PI = np.float32(math.sqrt(2 / math.pi))


def absolute_table(
    input_scale: float,
    input_zero_point: int,
    output_scale: float,
    output_zero_point: int,
    dtype: str,
) -> Table:
    """Return the table of abs: gemmlowp's two roundings, or none if the scales are the same.

    Source: AbsEvalQuantized of TFLite's kernels/elementwise.cc.
    """
    centred = centred_inputs(input_scale, input_zero_point, output_scale, output_zero_point, dtype)
    values = np.abs(centred)
    with np.errstate(all="ignore"):
        factor = float(np.float32(input_scale) / np.float32(output_scale))
    if factor != 1:
        check_scaled(Bounds.of(0, values.max()), factor, "tflite", output_zero_point)
        values = multiply_by_quantized_multiplier(values, *quantize_multiplier(factor))
    return clamp_to(values.astype(np.int64) + output_zero_point, dtype)


def negative_table(dtype: str) -> Table:
    """Return the table of the negated integers, whatever they mean, modulo 256.

    Source: Negate of TFLite's kernels/internal/reference/neg.h, which ignores zero points.
    """
    lowest, highest = dtype_range(dtype)
    return np.negative(np.arange(lowest, highest + 1)).astype(dtype)


def sqrt_table(
    input_scale: float,
    input_zero_point: int,
    output_scale: float,
    output_zero_point: int,
    dtype: str,
) -> Table:
    """Return the table of the square root, in float32 and rounded down.

    Source: SqrtEvalQuantized of TFLite's kernels/elementwise.cc.
    """
    centred = centred_inputs(input_scale, input_zero_point, output_scale, output_zero_point, dtype)
    with np.errstate(all="ignore"):
        real = np.float32(input_scale) * np.maximum(centred, 0).astype(np.float32)
        steps = np.trunc(np.sqrt(real) / np.float32(output_scale))
    integers = np.minimum(steps, np.float32(2.0**30)).astype(np.int64)
    return clamp_to(integers + output_zero_point, dtype)


def rsqrt_table(
    input_scale: float,
    input_zero_point: int,
    output_scale: float,
    output_zero_point: int,
    dtype: str,
) -> Table:
    """Return the table of 1 / sqrt(x), by Newton's iteration in fixed point; the highest for 0.

    Source: RsqrtEvalQuantizedInt8 of TFLite's kernels/elementwise.cc.

    Raises:
        QnnError: also if the scales are so far apart that the framework's shifts leave their range.
    """
    centred = centred_inputs(input_scale, input_zero_point, output_scale, output_zero_point, dtype)
    # TFLite divides in double, by a float32 product with a float32 root.
    root = np.sqrt(np.float32(input_scale)) * np.float32(output_scale)
    multiplier, shift = quantize_multiplier(1.0 / float(root))
    if not -31 <= int(shift) - _RSQRT_SHIFT <= 11:
        raise QnnError(
            f"the table of rsqrt needs scales that go together, got {input_scale:.4g} and "
            f"{output_scale:.4g}"
        )
    values = np.maximum(centred, 1)
    inverse, down = inverse_sqrt_multiplier(values)
    data = multiply_by_quantized_multiplier(np.ones_like(values), inverse, _RSQRT_SHIFT - down)
    scaled = multiply_by_quantized_multiplier(data, multiplier, int(shift) - _RSQRT_SHIFT)
    table = clamp_to(scaled.astype(np.int64) + output_zero_point, dtype)
    return np.where(centred <= 0, dtype_range(dtype)[1], table).astype(dtype)


def log_table(
    input_scale: float,
    input_zero_point: int,
    output_scale: float,
    output_zero_point: int,
    dtype: str,
) -> Table:
    """Return the table of the natural logarithm; values without one give the lowest result.

    Source: LogLUTPrepare of TFLite's kernels/elementwise.cc.
    """
    lowest = np.float32(dtype_range(dtype)[0] - output_zero_point) * np.float32(output_scale)

    def log(x: Float32Array) -> npt.NDArray[Any]:
        return np.where(x > 0, by_c("logf", np.log, np.maximum(x, np.float32(1e-45))), lowest)

    return unary_table(log, input_scale, input_zero_point, output_scale, output_zero_point, dtype)


def elu_table(
    input_scale: float,
    input_zero_point: int,
    output_scale: float,
    output_zero_point: int,
    dtype: str,
) -> Table:
    """Return the table of x from 0 on and exp(x) - 1 below.

    Source: EluPrepare of TFLite's kernels/activations.cc.
    """

    def elu(x: Float32Array) -> npt.NDArray[Any]:
        return np.where(x < 0, by_c("expm1f", np.expm1, np.minimum(x, 0)), x)

    return unary_table(elu, input_scale, input_zero_point, output_scale, output_zero_point, dtype)


def gelu_table(
    approximate: bool,
    input_scale: float,
    input_zero_point: int,
    output_scale: float,
    output_zero_point: int,
    dtype: str,
) -> Table:
    """Return the table of x times the normal distribution at x, or of its approximation by tanh.

    Source: GeluTransform and GeluTransformApproximate of TFLite's
    kernels/internal/reference/gelu.h.
    """
    return unary_table(
        gelu_of(approximate), input_scale, input_zero_point, output_scale, output_zero_point, dtype
    )


def gelu_of(approximate: bool) -> Callable[[Float32Array], npt.NDArray[Any]]:
    """Return x times the normal distribution at x as a function, or its approximation by tanh."""
    return _gelu_by_tanh if approximate else _gelu


def _gelu(x: Float32Array) -> npt.NDArray[Any]:
    return np.float32(0.5) * x * by_c("erfcf", np.vectorize(math.erfc), x * _HALF_SQRT)


def _gelu_by_tanh(x: Float32Array) -> npt.NDArray[Any]:
    inner = _SQRT_2_BY_PI * (x + np.float32(0.044715) * x * x * x)
    return np.float32(0.5) * x * (np.float32(1) + by_c("tanhf", np.tanh, inner))
