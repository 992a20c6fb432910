"""Functions of one value, element by element."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from tvm_qnn.zoo.file import Array, Shape
from tvm_qnn.zoo.float_run import FloatRun
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
