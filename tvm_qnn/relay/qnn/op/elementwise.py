"""Quantized functions of one value or of two, and quantization whose steps stay float32.

Functions of one value are tables of float32 results. A run may choose the dtype of simulated
quantization.
"""

import math
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from tvm.relax import Call, Expr

from qnn_ops.dialect.attributes import dtype_range
from qnn_ops.dialect.checks import check_choice
from qnn_ops.errors import QnnError
from tvm_qnn.relay import op
from tvm_qnn.relay.expr import clip, const, offer, spec
from tvm_qnn.relay.qnn import canonical
from tvm_qnn.relay.qnn.canonical import along, steps_of
from tvm_qnn.relay.qnn.op.canonicalizations import create_integer_lookup_op
from tvm_qnn.relay.qnn.op.legalizations import hardswish_func

if not TYPE_CHECKING:  # which take all public names
    __all__ = ["SQNN_DTYPE_TO_CODE"]


def _unary_operator(name: str, function: Callable[[np.ndarray], np.ndarray], what: str) -> Any:
    def operator(
        x: Expr, scale: Any, zero_point: Any, output_scale: Any, output_zero_point: Any
    ) -> Call:
        dtype = spec("x", x).dtype
        quantization = (scale, zero_point, output_scale, output_zero_point)
        return create_integer_lookup_op(x, function, *quantization, in_dtype=dtype, out_dtype=dtype)

    operator.__name__ = operator.__qualname__ = name
    operator.__doc__ = f"{what} of int8 or uint8 values, by a table of float32 results."
    return offer(operator)


def erf_of(x: np.ndarray) -> np.ndarray:
    """Return the error function of float32 values."""
    return np.vectorize(math.erf, otypes=[np.float32])(x)


sigmoid = _unary_operator("sigmoid", lambda x: 1 / (1 + np.exp(-x)), "1 / (1 + exp(-x))")
tanh = _unary_operator("tanh", np.tanh, "The hyperbolic tangent")
hardswish = _unary_operator("hardswish", hardswish_func, "x · relu6(x + 3) / 6")
exp = _unary_operator("exp", np.exp, "The exponential")
log = _unary_operator("log", np.log, "The natural logarithm")
sqrt = _unary_operator("sqrt", np.sqrt, "The square root")
rsqrt = _unary_operator("rsqrt", lambda x: 1 / np.sqrt(x), "The inverse square root")
erf = _unary_operator("erf", erf_of, "The error function")
abs = _unary_operator("abs", np.abs, "The absolute value")


def _binary_operator(name: str, compute: Callable[..., Expr], what: str) -> Any:
    def operator(
        lhs: Expr,
        rhs: Expr,
        lhs_scale: Any,
        lhs_zero_point: Any,
        rhs_scale: Any,
        rhs_zero_point: Any,
        output_scale: Any,
        output_zero_point: Any,
        lhs_axis: int = -1,
        rhs_axis: int = -1,
    ) -> Call:
        dtypes = spec(f"{name}: lhs", lhs).dtype, spec(f"{name}: rhs", rhs).dtype
        if dtypes[0] != dtypes[1]:
            raise QnnError(f"{name}: lhs and rhs must have one dtype, got {' and '.join(dtypes)}")
        scales = (lhs_scale, rhs_scale, output_scale)
        points = (lhs_zero_point, rhs_zero_point, output_zero_point)
        return compute((lhs, rhs), scales, points, (lhs_axis, rhs_axis))

    operator.__name__ = operator.__qualname__ = name
    operator.__doc__ = f"""{what}

    Args:
        lhs: int8, uint8 or int32.
        rhs: of the same dtype; shapes broadcast.
        lhs_scale: one, or one per channel along ``lhs_axis``.
        lhs_zero_point: likewise.
        rhs_scale: one, or one per channel along ``rhs_axis``.
        rhs_zero_point: likewise.
        output_scale: of the result.
        output_zero_point: of the result.
        lhs_axis: of the channels of ``lhs``.
        rhs_axis: of the channels of ``rhs``.
    """
    return offer(operator)


def _sum(name: str, combine: Any) -> Any:
    what = "quantized tensors, after each is brought to the result's scale."
    return _binary_operator(name, partial(canonical.sum_of, combine), f"{name.title()} {what}")


add, subtract = _sum("add", op.add), _sum("subtract", op.subtract)
mul = _binary_operator(
    "mul", canonical.product_of, "Multiply quantized tensors; the product is rescaled once."
)

SQNN_DTYPE_TO_CODE = {"disable": 0, "int8": 1, "uint8": 2, "int32": 3}
"""The number of each dtype in a tensor that chooses one; "disable" leaves the data unchanged."""


@offer
def simulated_quantize(
    data: Expr, output_scale: Any, output_zero_point: Any, axis: int = -1, out_dtype: Any = "int8"
) -> Call:
    """Quantize float32 data, and keep the steps as float32.

    ``out_dtype`` is a name or an int32 scalar of ``SQNN_DTYPE_TO_CODE``.
    """
    spec("simulated_quantize: data", data)
    code, steps = _code(out_dtype), steps_of(data, output_scale, output_zero_point, axis)
    result = data
    for dtype in ("int8", "uint8", "int32"):
        result = op.where(_is(code, dtype), clip(steps, *dtype_range(dtype)), result)
    return result


@offer
def simulated_dequantize(
    data: Expr, input_scale: Any, input_zero_point: Any, axis: int = -1, in_dtype: Any = "int8"
) -> Call:
    """Return the real numbers of steps that are kept as float32; see ``simulated_quantize``."""
    code, shape = _code(in_dtype), spec("simulated_dequantize: data", data).shape
    shifted = op.subtract(data, along(input_zero_point, "float32", shape, axis))
    real = op.multiply(shifted, along(input_scale, "float32", shape, axis))
    return op.where(_is(code, "disable"), data, real)


def _code(dtype: Any) -> Expr:
    if not isinstance(dtype, str):
        return dtype
    check_choice("the simulated dtype", dtype, tuple(SQNN_DTYPE_TO_CODE))
    return const(SQNN_DTYPE_TO_CODE[dtype], "int32")


def _is(code: Expr, dtype: str) -> Expr:
    return op.equal(code, const(SQNN_DTYPE_TO_CODE[dtype], "int32"))
