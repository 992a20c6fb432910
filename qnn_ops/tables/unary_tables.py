"""Tables of functions that TFLite computes for int8 in special ways; see ``qnn_ops.tables.lookup``.

Arguments and results are those of ``qnn_ops.tables.lookup.unary_table``. If TFLite ends a run with
an error, such as for the root of a negative number, the entry is that of 0.
"""

import math
from collections.abc import Callable

import numpy as np

from qnn_ops.arithmetic.accumulator_bounds import Bounds, check_scaled
from qnn_ops.arithmetic.c_functions import by_c
from qnn_ops.arithmetic.fixed_point import (
    clamp_to,
    multiply_by_quantized_multiplier,
    quantize_multiplier,
)
from qnn_ops.arithmetic.inverse_sqrt import inverse_sqrt_multiplier
from qnn_ops.arrays import Array, Float32Array
from qnn_ops.dialect.attributes import dtype_range
from qnn_ops.errors import QnnError
from qnn_ops.tables.lookup import Ends, centred_inputs, unary_table

_RSQRT_SHIFT = 20
_HALF_SQRT = np.float32(-math.sqrt(0.5))
_SQRT_2_BY_PI = np.float32(math.sqrt(2 / math.pi))


def absolute_table(ends: Ends) -> Array:
    """Return the table of abs: gemmlowp's two roundings, or none where the scales are the same.

    Source: AbsEvalQuantized of TFLite's kernels/elementwise.cc.
    """
    centred = centred_inputs(ends)
    values = np.abs(centred)
    with np.errstate(all="ignore"):
        factor = float(np.float32(ends.input_scale) / np.float32(ends.output_scale))
    if factor != 1:
        check_scaled(Bounds.of(0, values.max()), factor, "tflite", ends.output_zero_point)
        values = multiply_by_quantized_multiplier(values, *quantize_multiplier(factor))
    return clamp_to(values.astype(np.int64) + ends.output_zero_point, ends.dtype)


def negative_table(dtype: str) -> Array:
    """Return the table of the negated integers, whatever they mean, modulo 256.

    Source: Negate of TFLite's kernels/internal/reference/neg.h, which ignores zero points.
    """
    lowest, highest = dtype_range(dtype)
    return np.negative(np.arange(lowest, highest + 1)).astype(dtype)


def sqrt_table(ends: Ends) -> Array:
    """Return the table of the square root, in float32 and rounded down.

    Source: SqrtEvalQuantized of TFLite's kernels/elementwise.cc.
    """
    centred = centred_inputs(ends)
    with np.errstate(all="ignore"):
        real = np.float32(ends.input_scale) * np.maximum(centred, 0).astype(np.float32)
        steps = np.trunc(np.sqrt(real) / np.float32(ends.output_scale))
    integers = np.minimum(steps, np.float32(2.0**30)).astype(np.int64)
    return clamp_to(integers + ends.output_zero_point, ends.dtype)


def rsqrt_table(ends: Ends) -> Array:
    """Return the table of 1 / sqrt(x): Newton's iteration in fixed point; 0 gives the highest.

    Source: RsqrtEvalQuantizedInt8 of TFLite's kernels/elementwise.cc.

    Raises:
        QnnError: also if the scales are so far apart that the framework's shifts leave their range.
    """
    centred = centred_inputs(ends)
    # In double, of a float32 root and a float32 product.
    root = np.sqrt(np.float32(ends.input_scale)) * np.float32(ends.output_scale)
    multiplier, shift = quantize_multiplier(1.0 / float(root))
    if not -31 <= int(shift) - _RSQRT_SHIFT <= 11:
        raise QnnError(
            f"the table of rsqrt needs scales that go together, got {ends.input_scale:.4g} and "
            f"{ends.output_scale:.4g}"
        )
    values = np.maximum(centred, 1)
    inverse, down = inverse_sqrt_multiplier(values)
    data = multiply_by_quantized_multiplier(np.ones_like(values), inverse, _RSQRT_SHIFT - down)
    scaled = multiply_by_quantized_multiplier(data, multiplier, int(shift) - _RSQRT_SHIFT)
    table = clamp_to(scaled.astype(np.int64) + ends.output_zero_point, ends.dtype)
    return np.where(centred <= 0, dtype_range(ends.dtype)[1], table).astype(ends.dtype)


def log_table(ends: Ends) -> Array:
    """Return the table of the natural logarithm; what has none gives the lowest.

    Source: LogLUTPrepare of TFLite's kernels/elementwise.cc.
    """
    steps = np.float32(dtype_range(ends.dtype)[0] - ends.output_zero_point)
    lowest = steps * np.float32(ends.output_scale)

    def log(x: Float32Array) -> Array:
        return np.where(x > 0, by_c("logf", np.log, np.maximum(x, np.float32(1e-45))), lowest)

    return unary_table(log, ends)


def elu_table(ends: Ends) -> Array:
    """Return the table of x from 0 on and exp(x) - 1 below.

    Source: EluPrepare of TFLite's kernels/activations.cc.
    """

    def elu(x: Float32Array) -> Array:
        return np.where(x < 0, by_c("expm1f", np.expm1, np.minimum(x, 0)), x)

    return unary_table(elu, ends)


def gelu_table(approximate: bool, ends: Ends) -> Array:
    """Return the table of x times the normal distribution at x, or of its approximation by tanh.

    Source: GeluTransform and GeluTransformApproximate of TFLite's
    kernels/internal/reference/gelu.h.
    """
    return unary_table(gelu_of(approximate), ends)


def gelu_of(approximate: bool) -> Callable[[Float32Array], Array]:
    """Return x times the normal distribution at x as a function, or its approximation by tanh."""
    return _gelu_by_tanh if approximate else _gelu


def _gelu(x: Float32Array) -> Array:
    return np.float32(0.5) * x * by_c("erfcf", np.vectorize(math.erfc), x * _HALF_SQRT)


def _gelu_by_tanh(x: Float32Array) -> Array:
    inner = _SQRT_2_BY_PI * (x + np.float32(0.044715) * x * x * x)
    return np.float32(0.5) * x * (np.float32(1) + by_c("tanhf", np.tanh, inner))
