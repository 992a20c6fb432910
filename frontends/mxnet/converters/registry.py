"""The table from MXNet operators to the rules that convert them."""

from __future__ import annotations

from collections.abc import Callable

from frontends.mxnet.converters.context import Context
from frontends.mxnet.scalars import Value

Rule = Callable[[Context], "Value | list[Value]"]
"""Returns the operator's value: an expression, or an array if it is known when importing; or a list
of them if the operator has several outputs."""

CONVERTERS: dict[str, Rule] = {}
"""By the operator's name in the file."""


def converter(*operators: str) -> Callable[[Rule], Rule]:
    """Register a rule for the operators of these names."""

    def decorate(rule: Rule) -> Rule:
        CONVERTERS.update(dict.fromkeys(operators, rule))
        return rule

    return decorate
