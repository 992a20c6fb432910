"""The Relax expressions that stand for a model's tensors while its function is built."""

from __future__ import annotations

import numpy as np
import tvm
from tvm import relax

from frontends.errors import UnsupportedError
from frontends.names import VariableNames
from frontends.tflite.model import Tensor
from qnn_ops.errors import QnnError

DTYPES = ("float32", "int8", "uint8", "int16", "int32", "int64", "bool")
"""Types of tensors that an operator may write."""

INPUT_DTYPES = (*DTYPES, "float16")
"""Types of inputs and constants: a DEQUANTIZE reads float16."""


class Values:
    """Maps tensors to expressions; constants become parameters when they are first read.

    Attributes:
        parameters: of the function: the model's inputs, then its constants.
        params: the constants' values by parameter name.
    """

    def __init__(self) -> None:
        """Starts without values."""
        self.parameters: list[relax.Var] = []
        self.params: dict[str, tvm.runtime.Tensor] = {}
        self._names = VariableNames()
        self._exprs: dict[int, relax.Expr] = {}

    def add_input(self, tensor: Tensor, shape: tuple[int, ...]) -> None:
        """Makes the tensor a parameter of the given shape."""
        self._exprs[tensor.index] = self._parameter(tensor, shape, tensor.dtype)

    def define(self, builder: relax.BlockBuilder, tensor: Tensor, expr: relax.Expr) -> None:
        """Emits what computes the tensor, under the tensor's name."""
        self._exprs[tensor.index] = builder.emit(expr, _fresh(self._names, tensor))

    def assume(self, tensor: Tensor) -> None:
        """Lets an unknown value of the tensor's declared type stand for it."""
        dtype = tensor.dtype if tensor.dtype in DTYPES else "float32"
        self._exprs[tensor.index] = relax.Var("unknown", relax.TensorType(tensor.shape, dtype))

    def of(self, tensor: Tensor) -> relax.Expr:
        """The tensor's value.

        Raises:
            QnnError: it has none.
            UnsupportedError: it is a constant of a type that Relax and numpy do not share.
        """
        if tensor.index not in self._exprs:
            if tensor.data is None:
                raise QnnError(f"{tensor.label} has no value")
            if tensor.dtype not in INPUT_DTYPES:
                raise UnsupportedError(f"{tensor.label} is a constant of type {tensor.dtype}")
            self._exprs[tensor.index] = self.add_constant(tensor, "", tensor.data)
        return self._exprs[tensor.index]

    def add_constant(self, tensor: Tensor, suffix: str, data: np.ndarray) -> relax.Var:
        """Makes an array a parameter, named after a tensor, with its value in ``params``."""
        parameter = self._parameter(tensor, data.shape, str(data.dtype), suffix)
        # Not ascontiguousarray: that makes a vector of a scalar.
        self.params[parameter.name] = tvm.runtime.tensor(np.asarray(data, order="C"))
        return parameter

    def _parameter(
        self, tensor: Tensor, shape: tuple[int, ...], dtype: str, suffix: str = ""
    ) -> relax.Var:
        name = _fresh(self._names, tensor, suffix)
        self.parameters.append(relax.Var(name, relax.TensorType(shape, dtype)))
        return self.parameters[-1]


def _fresh(names: VariableNames, tensor: Tensor, suffix: str = "") -> str:
    # Converters join the names of the operators they merged with semicolons.
    return names.fresh(tensor.name.split(";", 1)[0], f"tensor_{tensor.index}", suffix)
