"""The walk over a graph that emits its operators, and collects those that cannot be converted."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
from tvm import relax

from frontends.builder import ModuleBuilder
from frontends.errors import UnsupportedError, UnsupportedOperatorError, reason_of
from frontends.mxnet.attributes import Attributes
from frontends.mxnet.converters.context import Context, Operand
from frontends.mxnet.converters.registry import CONVERTERS, Rule
from frontends.mxnet.graph import Entry, Graph, Node
from frontends.mxnet.scalars import Value
from qnn_ops.errors import QnnError

Problem = tuple[int, str, str, Sequence[str]]

# The dtypes that MXNet and Relax compute with, for the 64-bit dtypes that Python and numpy make.
_NARROWER = {"float64": "float32"}

_NO_RULE = "no conversion rule"


def reachable(graph: Graph) -> list[int]:
    """Return the numbers of the nodes that the heads depend on, in order."""
    wanted = {head.node for head in graph.heads}
    for number in reversed(range(len(graph.nodes))):
        if number in wanted:
            wanted.update(entry.node for entry in graph.nodes[number].inputs)
    return sorted(wanted)


def check_operators(graph: Graph) -> None:
    """Raise unless every operator has a rule.

    Raises:
        UnsupportedOperatorError: names all operators that have none.
    """
    problems = [
        (number, node.op, _NO_RULE, _names(graph, node))
        for number, node in _operators(graph)
        if node.op not in CONVERTERS
    ]
    if problems:
        raise UnsupportedOperatorError(problems)


def _operators(graph: Graph) -> Iterable[tuple[int, Node]]:
    return (
        (number, graph.nodes[number])
        for number in reachable(graph)
        if not graph.nodes[number].is_variable
    )


@dataclass
class Conversion:
    """Emits graphs into one function.

    Attributes:
        builder: the function's builder.
        semantics: one of ``frontends.mxnet.format.SEMANTICS``.
        problems: operators that rules refused, so far.
    """

    builder: ModuleBuilder
    semantics: str
    problems: list[Problem] = field(default_factory=list)

    def convert(self, graph: Graph, values: dict[Entry, Value]) -> list[Value]:
        """Emit a graph.

        Args:
            graph: the graph.
            values: the values of its variables that an operator reads. The conversion adds the
                values of the operators that it reaches.

        Returns:
            The values of its heads; fewer, if there are ``problems``.

        Raises:
            QnnError: an operator's attributes or inputs do not fit; names the operator.
        """
        return _Walk(self, graph, values).run()

    def convert_subgraph(self, graph: Graph, inputs: Sequence[Value]) -> list[Value]:
        """Emit the graph that an operator stands for, given its variables in order."""
        entries = [Entry(number) for number, node in enumerate(graph.nodes) if node.is_variable]
        if len(entries) != len(inputs):
            raise QnnError(f"the subgraph has {len(entries)} variables, got {len(inputs)} inputs")
        count = len(self.problems)
        results = self.convert(graph, dict(zip(entries, inputs, strict=True)))
        if len(self.problems) > count:
            reasons = [f"{op} in its subgraph: {why}" for _, op, why, _ in self.problems[count:]]
            del self.problems[count:]
            raise UnsupportedError("; ".join(reasons))
        return results


class _Walk:
    """One graph while it is converted."""

    def __init__(self, conversion: Conversion, graph: Graph, values: dict[Entry, Value]) -> None:
        self.conversion = conversion
        self.builder = conversion.builder
        self.graph = graph
        self.values = values
        self.exprs: dict[Entry, relax.Expr] = {}
        self.unknown: set[int] = set()

    def run(self) -> list[Value]:
        for number, node in _operators(self.graph):
            if node.op not in CONVERTERS:
                self._refuse(number, _NO_RULE)
                continue
            if any(entry.node in self.unknown for entry in node.inputs):
                self.unknown.add(number)
                continue
            try:
                self._define(number, node, self._apply(node))
            except UnsupportedError as error:
                self._refuse(number, str(error))
            except (ValueError, TypeError, RuntimeError, ArithmeticError) as error:
                raise QnnError(f"{self._where(number)}: {reason_of(error)}") from error
        return [self._value(head) for head in self.graph.heads if head.node not in self.unknown]

    def _refuse(self, number: int, reason: str) -> None:
        node = self.graph.nodes[number]
        self.unknown.add(number)
        problem = (number, node.op, reason, _names(self.graph, node))
        self.conversion.problems.append(problem)

    def _apply(self, node: Node) -> list[Value]:
        operands = [self._operand(entry) for entry in node.inputs]
        conversion = self.conversion
        rule: Rule = CONVERTERS[node.op]
        results = rule(
            Context(
                node,
                Attributes(node.attrs),
                operands,
                conversion.builder,
                conversion.semantics,
                conversion.convert_subgraph,
            )
        )
        return results if isinstance(results, list) else [results]

    def _define(self, number: int, node: Node, results: Sequence[Value]) -> None:
        for output, result in enumerate(results):
            if isinstance(result, np.generic):
                result = np.asarray(result)
            elif not isinstance(result, (np.ndarray, relax.Var)):
                result = self.builder.emit(result, self.builder.fresh(node.name))
            self.values[Entry(number, output)] = result

    def _operand(self, entry: Entry) -> Operand:
        # The rule may not read it: the label of a loss needs no value.
        name = self.graph.nodes[entry.node].name
        return Operand(name, lambda: self._value(entry), lambda: self._expr(entry))

    def _value(self, entry: Entry) -> Value:
        if entry not in self.values:
            node = self.graph.nodes[entry.node]
            if node.is_variable and entry.output == 0:
                raise QnnError(
                    f"{node.name!r} is no parameter and has no shape: give it one, as in "
                    f"{{{node.name!r}: (1, 3, 224, 224)}} or --shape {node.name}=1,3,224,224"
                )
            raise QnnError(f"{node.op} {node.name!r} has no output {entry.output}")
        return self.values[entry]

    def _expr(self, entry: Entry) -> relax.Expr:
        value = self._value(entry)
        if not isinstance(value, np.ndarray):
            return value
        if entry not in self.exprs:
            node = self.graph.nodes[entry.node]
            value = value.astype(_NARROWER.get(str(value.dtype), value.dtype), copy=False)
            name = self.builder.fresh(node.name)
            self.exprs[entry] = self.builder.add_constant(name, value)
        return self.exprs[entry]

    def _where(self, number: int) -> str:
        node = self.graph.nodes[number]
        return f"operator {number} {node.op} {node.name!r}"


def _names(graph: Graph, node: Node) -> list[str]:
    return [graph.nodes[entry.node].name for entry in node.inputs] + [node.name]
