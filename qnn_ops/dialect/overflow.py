"""Calls whose result the model's own framework leaves undefined, because int32 overflows.

Each operator's file has its rule; docs/numerics.md lists the bounds. Importers check every call
that they make. A call written by hand is always defined: sums wrap modulo 2^32, and results of
sums, products and means saturate.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import tvm
from tvm import relax

from qnn_ops.arrays import Array
from qnn_ops.dialect.registry import attrs_of, constant_of, operator_of, view_of
from qnn_ops.errors import QnnError

Params = Mapping[str, tvm.runtime.Tensor]


def check_overflow(expr: relax.Expr, params: Params) -> str:
    """Raise if the framework's integers could overflow for some data when it computes ``expr``.

    Args:
        expr: normalised; an expression that is no call of the dialect passes.
        params: values of the variables that are constants of the model, by name.

    Returns:
        The integers that can wrap, if the framework is known to do that; otherwise empty.

    Raises:
        QnnError: they could; the error names the operator, the channel and how far its integers go.
    """
    operator = operator_of(expr)
    if operator is None:
        return ""
    known = _Known(expr.args, params)
    return operator.check_overflow(attrs_of(expr), known, *operator.operands(expr))


@dataclass(frozen=True)
class _Known:
    operands: Sequence[relax.Expr]
    params: Params

    def __call__(self, index: int) -> Array:
        value = constant_of(self.operands[index])
        if value is not None:
            return value
        if not self.has(index):
            raise QnnError("weights and bias must be constant")
        return view_of(self.params[self.operands[index].name])

    def has(self, index: int) -> bool:
        operand = self.operands[index]
        is_parameter = isinstance(operand, relax.Var) and operand.name in self.params
        return is_parameter or constant_of(operand) is not None
