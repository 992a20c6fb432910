"""Replace operators by the kernels of the target's instruction set."""

from __future__ import annotations

from typing import Any

import tvm
from tvm import relax
from tvm.relax.expr_functor import mutator

from legalize.kernels.by_rows import by_rows
from legalize.kernels.kernel import Kernel
from legalize.kernels.table import KERNELS
from legalize.passes.rewriter import CallRewriter, constant_variables, first_found, module_pass
from qnn_ops import quantized_svdf, quantized_svdf_state
from qnn_ops.dialect.registry import Operator, has_open_size

_OF_WORDS = (quantized_svdf, quantized_svdf_state)


def UseKernels(target: tvm.target.Target) -> tvm.transform.Pass:
    """Replace each call that a kernel for ``target`` can take; leave the others as they are.

    The constants of a kernel (packed weights, folded zero points) are computed here, so weights
    must be constants: an operator whose weights are parameters is left to the primitives. So is an
    operator with only constant operands: it is computed at compile time, by any machine. Primitives
    also take tensors of int16, except for operators whose kernels support them.
    """
    serving = {
        name: [kernel for kernel in kernels if kernel.serves(target)]
        for name, kernels in KERNELS.items()
    }

    @mutator
    class _UseKernels(CallRewriter):
        def enter(self, function: relax.Function) -> None:
            self.constants = constant_variables(function)

        def rewrite(
            self, operator: Operator[Any], original: relax.Call, call: relax.Call
        ) -> relax.Expr:
            is_constant = self.constants.issuperset(relax.analysis.free_vars(original))
            if is_constant or (operator not in _OF_WORDS and _has_int16(call)):
                return call
            kernels: list[Kernel] = serving.get(operator.op.name, [])
            chosen = first_found(kernel.lower(self.builder_, call) for kernel in kernels)
            if chosen is None and has_open_size(call):
                lowers = (kernel.lower for kernel in kernels)
                chosen = first_found(by_rows(lower, self.builder_, call) for lower in lowers)
            return call if chosen is None else self.builder_.normalize(chosen)

    return module_pass(_UseKernels, "UseKernels")


def _has_int16(call: relax.Call) -> bool:
    types = [call.ty, *(operand.ty for operand in call.args)]
    fields = (part for ty in types for part in getattr(ty, "fields", [ty]))
    return any(str(getattr(ty, "dtype", "")) == "int16" for ty in fields)
