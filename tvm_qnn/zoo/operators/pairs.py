"""Operators of two values, element by element."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from tvm_qnn.zoo.file import Array, Shape
from tvm_qnn.zoo.float_run import FloatRun, clamped
from tvm_qnn.zoo.graph import Operator


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
