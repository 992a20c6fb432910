"""The common part of passes: visits the calls of our operators, and rebuilds changed ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import tvm
from tvm import relax
from tvm.relax.expr_functor import PyExprMutator

from qnn_ops.dialect.registry import Attrs, Operator, attrs_of, operator_of

_Found = TypeVar("_Found")


def first_found(results: Iterable[_Found | None]) -> _Found | None:
    """Return the first result that is not None. A generator computes no later results."""
    return next((result for result in results if result is not None), None)


class CallRewriter(PyExprMutator):
    """Visits a module's calls in order; a subclass rewrites the calls of our operators.

    The subclass is decorated with TVM's ``mutator``. This class is not, because TVM allows no
    subclass of a decorated one.
    """

    def visit_call_(self, call: relax.Call) -> relax.Expr:
        """Rewrite the operands, then the call."""
        rebuilt = self.visit_expr_post_order(call)
        operator = operator_of(rebuilt)
        if operator is None:
            return rebuilt
        return self.rewrite(operator, call, self.builder_.normalize(rebuilt))

    def rewrite(
        self, operator: Operator[Any], original: relax.Call, call: relax.Call
    ) -> relax.Expr:
        """Return the replacement of ``call``; ``original`` has the operands before rewriting."""
        del operator, original
        return call

    def producer(self, expr: relax.Expr, operator: Operator[Any]) -> relax.Call | None:
        """Return the rewritten call of ``operator`` that made ``expr``; None if there is none."""
        value = self.lookup_binding(expr) if isinstance(expr, relax.Var) else expr
        return value if value is not None and operator_of(value) is operator else None

    def rewrite_module(self, mod: tvm.IRModule) -> tvm.IRModule:
        """Apply the rewriter to each Relax function of ``mod``."""
        for variable, function in mod.functions_items():
            if isinstance(function, relax.Function):
                self.enter(function)
                self.builder_.update_func(variable, self.visit_expr(function))
        return relax.transform.DeadCodeElimination()(self.builder_.finalize())

    def enter(self, function: relax.Function) -> None:
        """Inspect a whole function before its calls are rewritten."""


def module_pass(rewriter: Callable[[tvm.IRModule], CallRewriter], name: str) -> tvm.transform.Pass:
    """Return a TVM pass that applies a fresh rewriter to a module."""

    def rewrite(mod: tvm.IRModule, _context: tvm.transform.PassContext) -> tvm.IRModule:
        return rewriter(mod).rewrite_module(mod)

    return tvm.transform.module_pass(rewrite, opt_level=0, name=name)


def with_attrs(call: relax.Call, **changes: Any) -> relax.Call:
    """Return the call with some attributes changed, and the same operands."""
    attrs: Attrs = attrs_of(call)
    fields = {key: _listed(value) for key, value in {**vars(attrs), **changes}.items()}
    return relax.Call(call.op, list(call.args), tvm.ir.make_node("ir.DictAttrs", **fields))


def constant_variables(function: relax.Function) -> set[Any]:
    """Return the variables whose values depend only on constants, through any operators."""
    constants: set[Any] = set()
    for block in function.body.blocks:
        for binding in block.bindings:
            if constants.issuperset(relax.analysis.free_vars(binding.value)):
                constants.add(binding.var)
    return constants


def count_uses(function: relax.Function) -> Counter[Any]:
    """Count the readers of each variable, the function's result included."""
    uses: Counter[Any] = Counter()

    def count(expr: relax.Expr) -> None:
        if isinstance(expr, relax.Var):
            uses[expr] += 1

    relax.analysis.post_order_visit(function.body, count)
    return uses


def _listed(value: Any) -> Any:
    return [_listed(item) for item in value] if isinstance(value, tuple) else value
