"""What stands for a graph's entries while its function is built: expressions and known arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import tvm
from tvm import relax

from frontends.names import VariableNames
from qnn_ops.overflow import check_overflow

Array = np.ndarray[Any, Any]

Value: TypeAlias = "relax.Expr | Array"
"""An expression, or an array where the value is known when the model is imported: a parameter of
the file, a calibrated range."""


class Parameters:
    """The parameters of the function that is built.

    Attributes:
        variables: the model's inputs, then its constants.
        values: the constants by parameter name.
    """

    def __init__(self) -> None:
        """Starts without parameters."""
        self.variables: list[relax.Var] = []
        self.values: dict[str, tvm.runtime.Tensor] = {}
        self._names = VariableNames()

    def add_input(self, name: str, shape: Sequence[int], dtype: str) -> relax.Var:
        """Makes a parameter that whoever runs the model gives."""
        variable = relax.Var(self.fresh(name), relax.TensorType(tuple(shape), dtype))
        self.variables.append(variable)
        return variable

    def add_constant(self, name: str, array: Array) -> relax.Var:
        """Makes an array a parameter with a value, named after what it comes from."""
        variable = self.add_input(name, array.shape, str(array.dtype))
        # Not ascontiguousarray: that makes a vector of a scalar.
        self.values[variable.name] = tvm.runtime.tensor(np.asarray(array, order="C"))
        return variable

    def emit(self, builder: relax.BlockBuilder, expr: relax.Expr, name: str = "") -> relax.Var:
        """Emits an expression into the function.

        Raises:
            QnnError: it does not fit its operands, or its sums could leave int32.
        """
        call = builder.normalize(expr)
        check_overflow(call, self.values)
        return builder.emit(call, name)

    def fresh(self, name: str) -> str:
        """A name for a variable, like the given one."""
        return self._names.fresh(name, "node")
