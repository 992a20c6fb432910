"""An MXNet symbol as a small typed graph: the reader makes it, the converters read it.

Files hold an operator's attributes as text; ``Attributes`` gives typed access to them.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from qnn_ops.errors import QnnError

SEMANTICS = ("mxnet", "corrected")
"""The choice where MXNet deviates from its own intent: its own results, or the intended ones."""

VARIABLE = "null"  # MXNet's operator name of a variable


@dataclass(frozen=True)
class Entry:
    """One output of one node.

    Attributes:
        node: the node's number in its graph.
        output: the index of the output.
    """

    node: int
    output: int = 0


@dataclass(frozen=True)
class Node:
    """A variable or an operator.

    Attributes:
        name: its name; for a variable, the name of the input or parameter.
        op: MXNet's name of the operator; "null" for a variable.
        attrs: its attributes in the file, name to text; numbers, booleans and tuples are text, too,
            in the spelling of the file's writer.
        inputs: the outputs of earlier nodes that it reads.
        subgraphs: the graphs inside the operator: the operators in a fused one, or the bodies of
            control flow.
    """

    name: str
    op: str
    attrs: Mapping[str, str] = field(default_factory=dict)
    inputs: tuple[Entry, ...] = ()
    subgraphs: tuple[Graph, ...] = ()

    @property
    def is_variable(self) -> bool:
        """Whether it is an input or a parameter."""
        return self.op == VARIABLE


@dataclass(frozen=True)
class Graph:
    """A symbol, its nodes in an order in which they can be computed.

    Attributes:
        nodes: every node, by number.
        heads: the graph's outputs.
        attrs: the file's attributes of the whole graph, for instance `mxnet_version`, 10901 for
            1.9.1; absent before 0.9.
    """

    nodes: tuple[Node, ...]
    heads: tuple[Entry, ...]
    attrs: Mapping[str, object] = field(default_factory=dict)


def reachable(graph: Graph) -> list[int]:
    """Return the numbers of the nodes that the heads depend on, in order."""
    wanted = {head.node for head in graph.heads}
    for number in reversed(range(len(graph.nodes))):
        if number in wanted:
            wanted.update(entry.node for entry in graph.nodes[number].inputs)
    return sorted(wanted)


_TRUE = ("true", "1")
_FALSE = ("false", "0")


class Attributes:
    """Typed access to attributes in every spelling: C++ writes 'true', Python 'True', 2.x '1'.

    An attribute that is missing or 'None' has the default. Each method raises ``QnnError``, with
    the attribute's name and text, if it cannot read the text, or if the attribute is missing and
    has no default.
    """

    def __init__(self, texts: Mapping[str, str]) -> None:
        """Read these texts, by name of the attribute."""
        self._texts = texts

    def has(self, name: str) -> bool:
        """Tell whether the attribute is there, and not 'None'."""
        return self._texts.get(name, "None") != "None"

    def text(self, name: str, default: str | None = None, choices: Sequence[str] = ()) -> str:
        """Return the text itself, one of the choices if there are any."""
        value = self._text(name) if self.has(name) or default is None else default
        if choices and value not in choices:
            raise QnnError(f"attribute {name} must be one of {', '.join(choices)}, got {value!r}")
        return value

    def flag(self, name: str, default: bool | None = None) -> bool:
        """Return a truth value."""
        if default is not None and not self.has(name):
            return default
        text = self._text(name)
        if text.lower() not in (*_TRUE, *_FALSE):
            raise self._error(name, "true or false")
        return text.lower() in _TRUE

    def integer(self, name: str, default: int | None = None) -> int:
        """Return a whole number; MXNet writes some of them as '1.0'."""
        if default is not None and not self.has(name):
            return default
        value = self.real(name)
        if value != int(value):
            raise self._error(name, "a whole number")
        return int(value)

    def real(self, name: str, default: float | None = None) -> float:
        """Return a finite number, in float64 as Python reads it."""
        if default is not None and not self.has(name):
            return default
        try:
            value = float(self._text(name))
        except ValueError:
            raise self._error(name, "a number") from None
        if not math.isfinite(value):
            raise self._error(name, "a finite number")
        return value

    def integers(self, name: str, default: Sequence[int] | None = None) -> tuple[int, ...]:
        """Return a list of whole numbers: '(3, 3)', '[3,3]', '()' or '3' for a single one."""
        if default is not None and not self.has(name):
            return tuple(default)
        values = self.optional_integers(name)
        if None in values:
            raise self._error(name, "whole numbers")
        return tuple(value for value in values if value is not None)

    def optional_integers(self, name: str) -> tuple[int | None, ...]:
        """Return a list whose items may be 'None', such as the ends of slices."""
        try:
            # Python 2 wrote long numbers with a trailing L.
            value = ast.literal_eval(self._text(name).replace("L", ""))
        except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
            raise self._error(name, "whole numbers") from None
        values = value if isinstance(value, (tuple, list)) else (value,)
        if not all(item is None or type(item) is int for item in values):
            raise self._error(name, "whole numbers")
        return tuple(values)

    def _text(self, name: str) -> str:
        if name not in self._texts:
            raise QnnError(f"attribute {name} is missing")
        return self._texts[name]

    def _error(self, name: str, wanted: str) -> QnnError:
        return QnnError(f"attribute {name} must be {wanted}, got {self._text(name)!r}")
