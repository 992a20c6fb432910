"""Let a convolution find its padding around its data, instead of copying the data."""

from __future__ import annotations

from collections import Counter
from typing import Any

import tvm
from tvm import relax
from tvm.relax.expr_functor import mutator

from legalize.kernels.table import BORDERS
from legalize.passes.rewriter import (
    CallRewriter,
    constant_variables,
    count_uses,
    first_found,
    module_pass,
    with_attrs,
)
from qnn_ops import quantized_conv2d
from qnn_ops.dialect.registry import Operator, attrs_of


def PadInPlace(target: tvm.target.Target) -> tvm.transform.Pass:
    """Let the kernels that make the data of convolutions write the padding, if they can.

    If only the convolution reads the data, the kernel of the data writes it into the middle of a
    larger tensor, with the input zero point around it. The convolution then has no padding left.
    """
    rules_for = BORDERS.serving(target)

    @mutator
    class _PadInPlace(CallRewriter):
        def enter(self, function: relax.Function) -> None:
            self.uses: Counter[Any] = count_uses(function)
            self.constants = constant_variables(function)

        def rewrite(
            self, operator: Operator[Any], original: relax.Call, call: relax.Call
        ) -> relax.Expr:
            data = original.args[0]
            if operator is not quantized_conv2d or not any(attrs_of(call).padding):
                return call
            # The compiling machine computes expressions of constants, without kernels.
            is_own = self.uses[data] == 1 and data not in self.constants
            producer = self.lookup_binding(call.args[0]) if is_own else None
            rules = rules_for(producer)
            padded = first_found(rule(self.builder_, producer, call) for rule in rules)
            if padded is None:
                return call
            # The result keeps the operand's name, by which a profile identifies the operator.
            padded = self.builder_.emit(padded, data.name)
            changed = with_attrs(call, padding=[0, 0, 0, 0])
            return relax.Call(changed.op, [padded, *call.args[1:]], changed.attrs)

    return module_pass(_PadInPlace, "PadInPlace")
