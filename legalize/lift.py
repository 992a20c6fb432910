"""Turns large constants into parameters of main, so that the bytecode need not contain them."""

from typing import Any

import tvm
from tvm import relax
from tvm.relax.expr_functor import PyExprMutator, mutator

from legalize.call_plan import bytes_of

LEAST_BYTES = 4096
"""Smaller constants stay where they are, unless they have no elements."""


def lift_constants(mod: tvm.IRModule) -> tuple[tvm.IRModule, list[Any]]:
    """Replace the large tensors in ``main`` by further parameters.

    A tensor that is used several times becomes one parameter.

    Args:
        mod: the module after all passes that precede the virtual machine's code; these passes would
            check the new parameters in each run.

    Returns:
        The module, and the tensors in the order of the new parameters.
    """
    lifter = _Lifter(mod)
    main = lifter.visit_expr(mod["main"])
    parameters = [*main.params, *lifter.parameters]
    lifted = relax.Function(parameters, main.body, main.ret_ty, main.is_pure, main.attrs)
    result = tvm.IRModule(mod.functions, attrs=mod.attrs)
    result["main"] = lifted
    return result, lifter.tensors


@mutator
class _Lifter(PyExprMutator):
    def __init__(self, mod: tvm.IRModule) -> None:
        super().__init__(mod)
        self.parameters: list[relax.Var] = []
        self.tensors: list[Any] = []
        self._known: dict[Any, relax.Var] = {}

    def visit_generic_const_(self, constant: Any) -> relax.Expr:
        tensor = constant.value
        # TVM cannot read bytecode that holds a tensor without elements.
        if not isinstance(tensor, tvm.runtime.Tensor) or 0 < bytes_of(tensor) < LEAST_BYTES:
            return constant
        if tensor not in self._known:
            variable = relax.Var(f"constant{len(self.tensors)}", constant.ty)
            self._known[tensor] = variable
            self.parameters.append(variable)
            self.tensors.append(tensor)
        return self._known[tensor]
