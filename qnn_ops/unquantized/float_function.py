"""Functions of float32: some as ONNX Runtime computes them, others as fast as vectors can."""

from collections.abc import Callable, Sequence
from typing import Annotated

import numpy as np

from qnn_ops.arithmetic import float_polynomials as polynomials
from qnn_ops.arithmetic.float_epilogue import fused_multiply_add_float32 as fma
from qnn_ops.arithmetic.onnxruntime import gru_tangent, horner, hyperbolic_tangent, logistic
from qnn_ops.arrays import Array, Float32Array
from qnn_ops.dialect import declared
from qnn_ops.dialect.registry import Attrs, TensorSpec, operator
from qnn_ops.dialect.traits import Channels, fixed

FUNCTIONS = (
    *("erf", "exp", "logistic", "tanh"),
    *("onnxruntime_gru_tanh", "onnxruntime_logistic", "onnxruntime_tanh"),
)


@operator(traits=fixed(Channels.ANYWHERE), overflows=False)
def float_function(
    data: declared.Floats, function: Annotated[str, declared.choice(*FUNCTIONS)]
) -> None:
    """Apply a function to each element.

    Source of the arithmetic: MLAS, ONNX Runtime's library, on processors with fused multiply-adds:
    polynomials by Horner, in float32. "logistic" and "tanh" use that "exp"; tanh near 0 uses
    Cephes' polynomial. They lie within 3 ULPs of the true functions, also on processors without
    fused multiply-adds, where products are rounded. ONNX Runtime's own functions are quotients of
    polynomials, bit for bit.

    Args:
        data: float32, any shape.
        function: "erf", "logistic", "tanh", or "exp". "exp" takes numbers that are not above 0, as
            in a softmax, in the form for AVX512; below -104 it is constant. "onnxruntime_logistic"
            and "onnxruntime_tanh" are ONNX Runtime's Sigmoid and Tanh; "onnxruntime_gru_tanh" is
            the tanh of its GRU, which rounds products.

    Returns:
        A call whose result has the data's shape and dtype.
    """


@float_function.type_rule
def _type(_attrs: Attrs, data: TensorSpec) -> TensorSpec:
    return data


@float_function.reference
def _reference(attrs: Attrs, data: Array) -> Array:
    with np.errstate(invalid="ignore"):
        result = _RULES[attrs.function](data)
    return np.asarray(result, np.float32)


def _exp(
    x: Array,
    coefficients: Sequence[float],
    lowest: float = polynomials.LOWEST_EXPONENT,
    spare: int = 0,
) -> Float32Array:
    x = np.maximum(np.float32(lowest), x)
    wholes = np.float32(polynomials.WHOLES)
    power = fma(x, np.float32(polynomials.LOG2_E), wholes) - wholes
    for part in polynomials.MINUS_LOG_2:
        x = fma(power, np.float32(part), x)
    exponents = np.nan_to_num(power).astype(np.int32) + spare
    # A power of two below the least normal number becomes 0.
    factor = np.ldexp(np.float32(1), exponents) * (exponents >= np.finfo(np.float32).minexp)
    result = horner(coefficients, x) * factor
    return np.asarray(result * np.float32(2.0**-spare), np.float32)


def _erf(x: Array) -> Float32Array:
    size = np.minimum(np.abs(x), np.float32(polynomials.ERF_END))
    below = fma(horner(polynomials.ERF_BELOW, size * size), size, size)
    exponent = fma(horner(polynomials.ERF_ABOVE, size), size, size)
    above = np.float32(1) - _exp(-exponent, polynomials.ERF_EXP)
    return np.copysign(np.where(size > np.float32(polynomials.ERF_SPLIT), above, below), x)


def _logistic(x: Array) -> Float32Array:
    power = _exp(-np.abs(x), polynomials.EXP)
    share = np.float32(1) / (np.float32(1) + power)
    return np.where(x < 0, power * share, share)


def _tanh(x: Array) -> Float32Array:
    size = np.abs(x)
    square = size * size
    below = fma(horner(polynomials.TANH_BELOW, square) * square, size, size)
    power = _exp(np.float32(-2) * size, polynomials.EXP)
    above = (np.float32(1) - power) / (np.float32(1) + power)
    return np.copysign(np.where(size < np.float32(polynomials.TANH_SPLIT), below, above), x)


_RULES: dict[str, Callable[[Array], Float32Array]] = {
    "erf": _erf,
    "exp": lambda x: _exp(
        x, polynomials.EXP, polynomials.LOWEST_EXPONENT_OF_ALL, polynomials.SPARE_EXPONENT
    ),
    "logistic": _logistic,
    "tanh": _tanh,
    "onnxruntime_gru_tanh": gru_tangent,
    "onnxruntime_logistic": logistic,
    "onnxruntime_tanh": hyperbolic_tangent,
}
