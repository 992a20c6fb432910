"""Make one table of a product whose operands follow from one tensor of bytes."""

from __future__ import annotations

from typing import Any

import numpy as np
import tvm
from tvm import relax
from tvm.relax.expr_functor import mutator

from legalize.passes.rewriter import CallRewriter, module_pass
from qnn_ops import quantized_lookup, quantized_multiply
from qnn_ops.attributes import dtype_range
from qnn_ops.checks import QUANTIZED
from qnn_ops.registry import Operator, attrs_of, constant_of, operator_of, spec_of

Array = np.ndarray[Any, Any]


@mutator
class _TabulateProducts(CallRewriter):
    def rewrite(
        self, operator: Operator[Any], original: relax.Call, call: relax.Call
    ) -> relax.Expr:
        if operator is not quantized_multiply:
            return call
        (source, lhs), (other, rhs) = (self._followed(operand) for operand in call.args)
        if not source.same_as(other) or spec_of(source).dtype not in QUANTIZED:
            return call
        table = quantized_multiply.apply(attrs_of(call), lhs, rhs)
        return quantized_lookup(source, relax.const(table, str(table.dtype)))

    def _followed(self, operand: relax.Expr) -> tuple[relax.Expr, Array]:
        """Return the tensor of which an operand is a table's results, and the table."""
        value = self.lookup_binding(operand) if isinstance(operand, relax.Var) else operand
        if operator_of(value) is quantized_lookup:
            table = constant_of(value.args[1])
            if table is not None:
                return value.args[0], table
        dtype = spec_of(operand).dtype
        low, high = dtype_range(dtype)
        return operand, np.arange(low, high + 1).astype(dtype)


def TabulateProducts() -> tvm.transform.Pass:
    """Make one ``quantized_lookup`` of the product of a tensor and a table's results for it.

    As a swish is, x · sigmoid(x): whatever both operands are, if they follow from one 8-bit value,
    there are 256 products.
    """
    return module_pass(_TabulateProducts, "TabulateProducts")
