"""Let the kernel that makes an operand of a sum compute the sum, too."""

from __future__ import annotations

from collections import Counter
from typing import Any

import tvm
from tvm import relax
from tvm.relax.expr_functor import mutator

from legalize.kernels.table import SUMS
from legalize.passes.rewriter import (
    CallRewriter,
    constant_variables,
    count_uses,
    first_found,
    module_pass,
)
from qnn_ops import quantized_add, quantized_subtract
from qnn_ops.dialect.registry import Operator


def FuseSums(target: tvm.target.Target) -> tvm.transform.Pass:
    """Make one kernel for ``target`` of a sum and of the operator that makes one of its operands.

    So residual connections need no separate pass over memory. A convolution rounds and clamps its
    output as usual, adds the other tensor while the output is in registers, and stores the sum.
    Nothing else may read the output. If both operands qualify, the pass takes the later one,
    because its input may still be in a cache.
    """
    rules_for = SUMS.serving(target)

    @mutator
    class _FuseSums(CallRewriter):
        def enter(self, function: relax.Function) -> None:
            self.uses: Counter[Any] = count_uses(function)
            self.constants = constant_variables(function)
            bindings = (binding for block in function.body.blocks for binding in block.bindings)
            self.places = {binding.var: place for place, binding in enumerate(bindings)}

        def rewrite(
            self, operator: Operator[Any], original: relax.Call, call: relax.Call
        ) -> relax.Expr:
            is_constant = self.constants.issuperset(relax.analysis.free_vars(original))
            if operator not in (quantized_add, quantized_subtract) or is_constant:
                return call
            read_here = [
                (self.places[operand], index)
                for index, operand in enumerate(original.args)
                if operand in self.places and self.uses[operand] == 1
            ]
            for _, index in sorted(read_here, reverse=True):
                fused = self._fused(call, index)
                if fused is not None:
                    # The sum keeps the operand's name, by which a profile identifies the operator.
                    return self.builder_.emit(fused, original.args[index].name)
            return call

        def _fused(self, call: relax.Call, index: int) -> relax.Expr | None:
            producer = self.lookup_binding(call.args[index])
            other = call.args[1 - index]
            rules = rules_for(producer)
            return first_found(rule(self.builder_, call, producer, other) for rule in rules)

    return module_pass(_FuseSums, "FuseSums")
