"""The common part of passes: visits the calls of some operators, and rebuilds changed ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import cached_property
from typing import Any, TypeVar

import tvm
from tvm import relax
from tvm.relax.expr_functor import PyExprMutator, mutator

from legalize.loop_functions import nodes_in
from legalize.qdq.group import operator_name
from qnn_ops.dialect.registry import Operator, operator_of

_Found = TypeVar("_Found")


def first_found(results: Iterable[_Found | None]) -> _Found | None:
    """Return the first result that is not None. A generator computes no later results."""
    return next((result for result in results if result is not None), None)


class Facts:
    """Facts about the variables of a function. Each is computed when it is first read."""

    def __init__(self, function: relax.Function) -> None:
        """Take a function. It must not change while its facts are read."""
        self.function = function
        self._others: dict[Any, Any] = {}

    @cached_property
    def values(self) -> dict[Any, relax.Expr]:
        """The values of variables, in the order of their bindings."""
        blocks = self.function.body.blocks
        return {binding.var: binding.value for block in blocks for binding in block.bindings}

    @cached_property
    def places(self) -> dict[Any, int]:
        """The index of each variable among the bound ones."""
        return {variable: place for place, variable in enumerate(self.values)}

    @cached_property
    def uses(self) -> Counter[Any]:
        """The number of readers of each variable, the function's result included."""
        uses: Counter[Any] = Counter()

        def count(expr: relax.Expr) -> None:
            if isinstance(expr, relax.Var):
                uses[expr] += 1

        relax.analysis.post_order_visit(self.function.body, count)
        return uses

    @cached_property
    def constants(self) -> set[Any]:
        """The variables whose values depend only on constants, through any operators."""
        constants: set[Any] = set()
        for variable, value in self.values.items():
            if constants.issuperset(relax.analysis.free_vars(value)):
                constants.add(variable)
        return constants

    def is_constant(self, expr: relax.Expr) -> bool:
        """Tell whether an expression depends only on constants."""
        return self.constants.issuperset(relax.analysis.free_vars(expr))

    def of(self, find: Callable[[Facts], _Found]) -> _Found:
        """Return ``find(self)``, which is computed once for each function."""
        if find not in self._others:
            self._others[find] = find(self)
        found: _Found = self._others[find]
        return found


def calls_any(function: relax.Function, operators: Iterable[str]) -> bool:
    """Tell whether a function calls any of some operators: this is faster than to rewrite it."""
    names = map(operator_name, nodes_in(function.body, relax.Call))
    return not set(operators).isdisjoint(names)


Rule = Callable[["CallRewriter", relax.Call, relax.Call], "relax.Expr | None"]
"""``rule(writer, original, call)`` returns the replacement of a call whose operands are rewritten;
None if it stays. ``original`` has the operands before rewriting."""


class CallRewriter(PyExprMutator):
    """Rewrites the calls of a module's functions, in order, by rules for their operators.

    A subclass is decorated with TVM's ``mutator``. This class is not, because TVM allows no
    subclass of a decorated one.

    Attributes:
        rules: by the name of the operator.
        operators: the names of the operators whose calls may change, if there are no rules.
        has_replaced: whether a rule has replaced a call; True if nothing keeps count.
        facts: about the function that is rewritten.
    """

    has_replaced = True
    rules: Mapping[str, Rule] = {}
    operators: Collection[str] = ()
    facts: Facts

    def visit_call_(self, call: relax.Call) -> relax.Expr:
        """Rewrite the operands, then the call."""
        rebuilt = self.visit_expr_post_order(call)
        rule = self.rules.get(operator_name(rebuilt))
        if rule is None:
            return rebuilt
        rebuilt = self.builder_.normalize(rebuilt)
        found = rule(self, call, rebuilt)
        if found is None:
            return rebuilt
        self.has_replaced = True
        return self.builder_.normalize(found)

    def value_of(self, expr: relax.Expr) -> Any:
        """Return a variable's rewritten value; any other expression as it is."""
        return self.lookup_binding(expr) if isinstance(expr, relax.Var) else expr

    def producer(self, expr: relax.Expr, operator: Operator[Any]) -> relax.Call | None:
        """Return the rewritten call of ``operator`` that made ``expr``; None if there is none."""
        value = self.value_of(expr)
        return value if operator_of(value) is operator else None

    def rewrite_module(self, mod: tvm.IRModule) -> tvm.IRModule:
        """Apply the rewriter to each Relax function of ``mod``; leave out what nobody reads then.

        If no function changes, the module stays as it is.
        """
        is_visited = False
        for variable, function in mod.functions_items():
            if isinstance(function, relax.Function):
                self.facts = Facts(function)
                if self.enter(function):
                    is_visited = True
                    self.builder_.update_func(variable, self.visit_expr(function))
        if not is_visited or not self.has_replaced:
            return mod
        return relax.transform.DeadCodeElimination()(self.builder_.finalize())

    def enter(self, function: relax.Function) -> bool:
        """Inspect a function before its calls are rewritten; return whether any may change.

        Here those of ``operators`` may, or of ``rules``. A subclass without both replaces this.
        """
        return calls_any(function, self.operators or self.rules)


@mutator
class _ByRules(CallRewriter):
    def __init__(self, mod: tvm.IRModule, rules: Mapping[str, Rule]) -> None:
        super().__init__(mod)
        self.rules, self.has_replaced = rules, False


def rewrite_calls(mod: tvm.IRModule, rules: Mapping[str, Rule]) -> tvm.IRModule:
    """Rewrite the calls of some operators, and leave out what nobody reads then.

    If no rule replaces a call, the module stays as it is.

    Args:
        mod: the module.
        rules: by the name of the operator.
    """
    return _ByRules(mod, rules).rewrite_module(mod)


def call_pass(rules: Mapping[str, Rule], name: str) -> tvm.transform.Pass:
    """Return a TVM pass of ``rewrite_calls``."""
    return tvm.transform.module_pass(
        lambda mod, _context: rewrite_calls(mod, rules), opt_level=0, name=name
    )


def module_pass(rewriter: Callable[[tvm.IRModule], CallRewriter], name: str) -> tvm.transform.Pass:
    """Return a TVM pass that applies a fresh rewriter to a module."""

    def rewrite(mod: tvm.IRModule, _context: tvm.transform.PassContext) -> tvm.IRModule:
        return rewriter(mod).rewrite_module(mod)

    return tvm.transform.module_pass(rewrite, opt_level=0, name=name)
