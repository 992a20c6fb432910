"""Functions of one value or two, element by element."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tvm_qnn.zoo.float_run import clamped
from tvm_qnn.zoo.graph import Operator, plain

Make = Callable[..., Operator]


def _function(
    code: str,
    function: Callable[..., Any],
    *,
    dtype: str | None = None,
    lowest: float | None = None,
    **options: Any,
) -> Make:
    """Return a function that makes operators of one value."""
    compute, write = (lambda _, x: function(x)), plain(code, options, {})
    return lambda: Operator(compute, write, dtype, lowest=lowest)


def _pair(code: str, function: Callable[..., Any], **options: Any) -> Make:
    """Return a function that makes operators of two values; either may be broadcast.

    Its argument is the activation: "NONE", "RELU" or "RELU6".
    """

    def make(activation: str = "NONE") -> Operator:
        write = plain(code, {"fused_activation_function": activation, **options}, {})
        return Operator(lambda _, *arrays: clamped(function(*arrays), activation), write)

    return make


def _whole(code: str, function: Callable[..., Any]) -> Make:
    """Return a function that makes operators of two values without an activation."""
    return lambda: Operator(lambda _, *arrays: function(*arrays), plain(code, {}, {}))


HardSwish = _function("HARD_SWISH", lambda x: x * np.clip(x + 3, 0, 6) / np.float32(6))
Logistic = _function("LOGISTIC", lambda x: 1 / (1 + np.exp(-x)), lowest=0.0)
Sqrt = _function("SQRT", np.sqrt)
Rsqrt = _function("RSQRT", lambda x: 1 / np.sqrt(x))
Gelu = _function(
    "GELU",
    lambda x: x * (1 + np.tanh(np.float32(0.7978846) * (x + 0.044715 * x**3))) / 2,
    approximate=True,
)
Dequantize = _function("DEQUANTIZE", lambda x: x, dtype="float32")
Cast = _function(
    *("CAST", lambda x: x.astype(np.float32)),
    dtype="float32",
    in_data_type="int32",
    out_data_type="float32",
)

# ADD: scales of int16 are any, not only powers of two.
Add = _pair("ADD", np.add, pot_scale_int16=False)
Sub = _pair("SUB", np.subtract)
Mul = _pair("MUL", np.multiply)
Div = _pair("DIV", np.divide)
FloorDiv = _whole("FLOOR_DIV", np.floor_divide)
FloorMod = _whole("FLOOR_MOD", np.mod)
SquaredDifference = _whole("SQUARED_DIFFERENCE", lambda x, y: np.square(x - y))
