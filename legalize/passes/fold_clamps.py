"""Let the operator before an activation clamp its result."""

from __future__ import annotations

from collections import Counter
from typing import Any

import tvm
from tvm import relax
from tvm.relax.expr_functor import mutator

from legalize.passes.rewriter import CallRewriter, count_uses, module_pass, with_attrs
from qnn_ops import quantized_relu
from qnn_ops.arithmetic.activations import activation_range
from qnn_ops.dialect.attributes import bounds
from qnn_ops.dialect.registry import Attrs, Operator, attrs_of, operator_of, spec_of


@mutator
class _FoldClamps(CallRewriter):
    def enter(self, function: relax.Function) -> None:
        self.uses: Counter[Any] = count_uses(function)

    def rewrite(
        self, operator: Operator[Any], original: relax.Call, call: relax.Call
    ) -> relax.Expr:
        # A producer with other readers would be computed twice.
        if operator is not quantized_relu or self.uses[original.args[0]] != 1:
            return call
        relu = attrs_of(call)
        producer = self._clamping_producer(call.args[0])
        if producer is None or not _keeps_quantization(relu, spec_of(call.args[0]).dtype):
            return call
        low, high = activation_range(
            relu.kind, relu.output_scale, relu.output_zero_point, relu.out_dtype
        )
        first_low, first_high = bounds(attrs_of(producer), relu.out_dtype)
        # The activation's clamp comes second, so its bounds win if the two ranges are disjoint.
        return with_attrs(
            producer,
            out_min=min(max(first_low, low), high),
            out_max=max(min(first_high, high), low),
        )

    def _clamping_producer(self, expr: relax.Expr) -> relax.Call | None:
        value = self.lookup_binding(expr) if isinstance(expr, relax.Var) else expr
        operator = operator_of(value)
        return value if operator is not None and operator.traits.clamps else None


def FoldClamps() -> tvm.transform.Pass:
    """Fold a ``quantized_relu`` that keeps scale, zero point and dtype into the operator before it.

    Rescaling by exactly one changes nothing in gemmlowp's arithmetic, so such an activation is
    a clamp, and every operator that computes can end in one.
    """
    return module_pass(_FoldClamps, "FoldClamps")


def _keeps_quantization(relu: Attrs, dtype: str) -> bool:
    before = (relu.input_scale, relu.input_zero_point, dtype)
    return before == (relu.output_scale, relu.output_zero_point, relu.out_dtype)
