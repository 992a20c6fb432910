"""The context of a conversion rule (one operator and its operands), and the table of rules."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from tvm import relax

from frontends.builder import ModuleBuilder
from frontends.mxnet.attributes import Attributes
from frontends.mxnet.graph import Graph, Node
from frontends.mxnet.scalars import Array, Number, Value, is_known
from qnn_ops.dialect.checks import check_axis
from qnn_ops.dialect.registry import spec_of
from qnn_ops.errors import QnnError
from qnn_ops.modules import Rules


@dataclass(frozen=True)
class Context:
    """One operator of a model, while the model's function is being built.

    Attributes:
        node: the operator.
        attrs: its attributes.
        names: the names of the nodes that compute its inputs.
        value: returns an input by its index, known or computed; raises if a variable has none.
        expr: returns an input as an expression; an array of the file becomes a parameter.
        builder: emits expressions that are used more than once, and takes computed constants.
        semantics: one of ``frontends.mxnet.format.SEMANTICS``.
        convert: emits a whole graph, such as a subgraph of the node, given the values of its
            variables in order; returns the values of its heads.
    """

    node: Node
    attrs: Attributes
    names: Sequence[str]
    value: Callable[[int], Value]
    expr: Callable[[int], relax.Expr]
    builder: ModuleBuilder
    semantics: str
    convert: Callable[[Graph, Sequence[Value]], list[Value]]

    @property
    def is_corrected(self) -> bool:
        """Whether to compute what MXNet should have computed."""
        return self.semantics == "corrected"

    @property
    def arity(self) -> int:
        """The number of the operator's inputs."""
        return len(self.names)

    def exprs(self) -> list[relax.Expr]:
        """Return all inputs as expressions."""
        return [self.expr(position) for position in range(self.arity)]

    def array(self, position: int) -> Any:
        """Return an input of float32 as an ``Expression``, with numpy's interface."""
        result = self.builder.array(self.expr(position))
        if result.dtype != np.float32:
            raise QnnError(f"{self.names[position]!r} must be float32, got {result.dtype}")
        return result

    def shape(self, position: int) -> tuple[int, ...]:
        """Return an input's shape."""
        value = self.value(position)
        return value.shape if isinstance(value, np.ndarray) else spec_of(value).shape

    def shapes(self) -> list[tuple[int, ...]]:
        """Return the shapes of all inputs."""
        return [self.shape(position) for position in range(self.arity)]

    def check_shape(self, position: int, needed: tuple[int, ...], name: str = "") -> None:
        """Raise unless an input has a shape; the error calls it ``name``, or by its own name."""
        if self.shape(position) != needed:
            what = name or repr(self.names[position])
            raise QnnError(f"{what} must have shape {needed}, got {self.shape(position)}")

    @property
    def rank(self) -> int:
        """The number of axes of the first input."""
        return len(self.shape(0))

    def axis(self, default: int | None = None, name: str = "axis", more: int = 0) -> int:
        """Return an attribute that names an axis of the first input, counted from its first axis.

        Args:
            default: if the attribute is missing; None if it must be there.
            name: of the attribute.
            more: the number of axes that are counted besides those of the input.
        """
        return check_axis(self.attrs.integer(name, default), self.rank + more)

    def dtype(self, position: int) -> str:
        """Return an input's dtype."""
        value = self.value(position)
        return str(value.dtype) if isinstance(value, np.ndarray) else spec_of(value).dtype

    def known(self, position: int) -> Array | None:
        """Return an input's value, if it is known when importing."""
        value = self.value(position)
        return value if isinstance(value, np.ndarray) else None

    def constant(self, position: int) -> Array:
        """Return an input's value, which must be known: weights, ranges.

        Raises:
            QnnError: it is computed at run time.
        """
        array = self.known(position)
        if array is None:
            raise QnnError(f"{self.names[position]!r} must be constant")
        return array

    def emit(self, expr: relax.Expr) -> relax.Var:
        """Emit an expression, so that it is computed once and its type is known."""
        return self.builder.emit(expr)

    def beside(self, number: Number, array: Array, suffix: str) -> Number:
        """Return an array as it is if the number is known; otherwise as a parameter."""
        return array if is_known(number) else self.builder.array(self.parameter(array, suffix))

    def parameter(self, array: Array, suffix: str) -> relax.Var:
        """Return a computed constant as a parameter, named after the operator."""
        return self.builder.add_constant(self.builder.fresh(f"{self.node.name}{suffix}"), array)


Rule = Callable[[Context], "Value | list[Value]"]
"""Returns the operator's value: an expression, or an array if it is known when importing; or a list
of them if the operator has several outputs."""

CONVERTERS = Rules[str, Rule]()
"""The rules, by the operator's name in the file."""

converter = CONVERTERS.of
