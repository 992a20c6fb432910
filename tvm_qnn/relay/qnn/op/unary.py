"""Functions of one quantized value, by tables of float32 results."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from tvm import relax

from tvm_qnn.relay.expr import spec
from tvm_qnn.relay.qnn.op.canonicalizations import create_integer_lookup_op
from tvm_qnn.relay.qnn.op.legalizations import hardswish_func

Array = np.ndarray[Any, Any]


def _unary_operator(name: str, function: Callable[[Array], Array], what: str) -> Any:
    def operator(
        x: relax.Expr, scale: Any, zero_point: Any, output_scale: Any, output_zero_point: Any
    ) -> relax.Call:
        dtype = spec("x", x).dtype
        quantization = (scale, zero_point, output_scale, output_zero_point)
        return create_integer_lookup_op(x, function, *quantization, in_dtype=dtype, out_dtype=dtype)

    operator.__name__ = operator.__qualname__ = name
    operator.__doc__ = f"{what} of int8 or uint8 values, by a table of float32 results."
    return operator


def erf_of(x: Array) -> Array:
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
