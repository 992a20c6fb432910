"""Functions of one value or two, element by element."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from tvm_qnn.zoo.file import Array, Shape
from tvm_qnn.zoo.float_run import FloatRun, clamped
from tvm_qnn.zoo.graph import Operator


class _Function(Operator):
    function: ClassVar[Callable[..., Any]]

    def shapes(self, *shapes: Shape) -> list[Shape]:
        """Return that of the output."""
        return [shapes[0]]

    def compute(self, run: FloatRun, *arrays: Array) -> list[Array]:
        """Apply the function."""
        return [type(self).function(arrays[0])]


class HardSwish(_Function):
    """x · relu6(x + 3) / 6."""

    code = "HARD_SWISH"
    function = staticmethod(lambda x: x * np.clip(x + 3, 0, 6) / np.float32(6))


class Logistic(_Function):
    """1 / (1 + exp(-x))."""

    code = "LOGISTIC"
    lowest = 0.0
    function = staticmethod(lambda x: 1 / (1 + np.exp(-x)))


class Sqrt(_Function):
    """A square root."""

    code = "SQRT"
    function = np.sqrt


class Rsqrt(_Function):
    """1 / sqrt(x)."""

    code = "RSQRT"
    function = staticmethod(lambda x: 1 / np.sqrt(x))


class Gelu(_Function):
    """x times the normal distribution up to x, here by tanh."""

    code = "GELU"
    function = staticmethod(
        lambda x: x * (1 + np.tanh(np.float32(0.7978846) * (x + 0.044715 * x**3))) / 2
    )

    def options(self) -> dict[str, Any]:
        """Return that it is approximate."""
        return {"approximate": True}


class Dequantize(_Function):
    """The real values of integers, as float32."""

    code = "DEQUANTIZE"
    function = staticmethod(lambda x: x)

    def dtype(self, *dtypes: str) -> str:
        """Return float32."""
        return "float32"


class Cast(_Function):
    """Integers as float32."""

    code = "CAST"
    function = staticmethod(lambda x: x.astype(np.float32))

    def dtype(self, *dtypes: str) -> str:
        """Return float32."""
        return "float32"

    def options(self) -> dict[str, Any]:
        """Return the dtypes."""
        return {"in_data_type": "int32", "out_data_type": "float32"}


@dataclass(frozen=True)
class _Pair(Operator):
    """A function of two values, either of which may be broadcast.

    Attributes:
        activation: "NONE", "RELU" or "RELU6".
    """

    activation: str = "NONE"

    function: ClassVar[Callable[..., Any]]

    def shapes(self, *shapes: Shape) -> list[Shape]:
        """Return that of the output."""
        return [np.broadcast_shapes(*shapes)]

    def compute(self, run: FloatRun, *arrays: Array) -> list[Array]:
        """Apply the function and the activation."""
        return [clamped(type(self).function(*arrays), self.activation)]

    def options(self) -> dict[str, Any]:
        """Return the activation."""
        return {"fused_activation_function": self.activation}


class Add(_Pair):
    """A sum."""

    code = "ADD"
    function = np.add

    def options(self) -> dict[str, Any]:
        """Return the activation, and that scales of int16 are any."""
        return {**super().options(), "pot_scale_int16": False}


class Sub(_Pair):
    """A difference."""

    code = "SUB"
    function = np.subtract


class Mul(_Pair):
    """A product."""

    code = "MUL"
    function = np.multiply


class Div(_Pair):
    """A quotient of float32 values."""

    code = "DIV"
    function = np.divide


class FloorDiv(_Pair):
    """A quotient of integers, rounded down."""

    code = "FLOOR_DIV"
    function = np.floor_divide

    def options(self) -> dict[str, Any]:
        """Return none."""
        return {}


class FloorMod(_Pair):
    """What a division of integers leaves, of the divisor's sign."""

    code = "FLOOR_MOD"
    function = np.mod

    def options(self) -> dict[str, Any]:
        """Return none."""
        return {}


class SquaredDifference(_Pair):
    """The square of a difference."""

    code = "SQUARED_DIFFERENCE"
    function = staticmethod(lambda x, y: np.square(x - y))

    def options(self) -> dict[str, Any]:
        """Return none."""
        return {}
