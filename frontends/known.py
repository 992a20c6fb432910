"""Computes expressions of constants when a model is imported."""

from math import prod
from typing import Any

import tvm
from tvm import relax, tirx

from frontends.builder import ModuleBuilder
from qnn_ops.arrays import Array
from qnn_ops.dialect.expressions import Expression
from qnn_ops.dialect.known_values import value_of
from qnn_ops.dialect.registry import constant_of
from qnn_ops.errors import QnnError

MOST = 1 << 12
"""The most elements of shapes and of small tables made from them; larger tensors are data. An
intermediate value may have twice as many, such as rows with one more."""


class KnownBuilder(ModuleBuilder):
    """Computes each expression in place of emitting it."""

    def __init__(self) -> None:
        """Start without constants."""
        super().__init__()
        self._known: dict[relax.Var, Any] = {}

    def add_constant(self, name: str, array: Array, dtype: str = "") -> relax.Var:
        """Return a variable with an array as its value; an array of open sizes needs a dtype."""
        variable = relax.Var(name, relax.TensorType(array.shape, dtype or array.dtype.name))
        self._known[variable] = array
        return variable

    def array(self, expr: relax.Expr) -> Any:
        """Return an ``Expression``, whose operations are computed."""
        return Expression(self, expr)

    def emit(self, expr: relax.Expr, name: str = "") -> relax.Expr:
        """Compute an expression, and return a variable with the value.

        Raises:
            QnnError: the expression depends on an unknown value, or the value is too large.
        """
        if isinstance(expr, relax.TupleGetItem):
            whole = self.emit(expr.tuple_value)
            dtype = str(whole.ty.fields[expr.index].dtype)
            return self.add_constant(name, self.value_of(whole)[expr.index], dtype)
        if not isinstance(expr, relax.Call):
            return expr
        inner = [self._computed(each) for each in expr.args]
        call = self._block.normalize(relax.Call(expr.op, inner, expr.attrs))
        shape = getattr(getattr(call.ty, "shape", None), "values", ())
        if prod(map(int, shape)) > 2 * MOST:
            raise QnnError(f"a result of shape {shape} is data")
        value = value_of(call, *map(self.value_of, inner))
        if not isinstance(value, list):
            return self.add_constant(name, value, str(call.ty.dtype))
        variable = relax.Var(name, call.ty)
        self._known[variable] = value
        return variable

    typed = normalize = emit

    def value_of(self, expr: relax.Expr) -> Any:
        """Return the value of an operand: an array, a list for a tuple, or a number.

        Raises:
            QnnError: it is not known.
        """
        if isinstance(expr, relax.Tuple):
            return [self.value_of(each) for each in expr.fields]
        if isinstance(expr, relax.ShapeExpr):
            return expr
        if isinstance(expr, tirx.IntImm | tirx.FloatImm):
            return expr.value
        if isinstance(expr, tvm.ir.GenericConst):
            return constant_of(expr)
        if expr not in self._known:
            raise QnnError(f"{expr} is not known")
        return self._known[expr]

    def _computed(self, expr: relax.Expr) -> relax.Expr:
        if isinstance(expr, relax.Tuple):
            return relax.Tuple([self._computed(each) for each in expr.fields])
        return self.emit(expr)
