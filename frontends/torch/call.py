"""A node to import, as its rule sees it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from tvm import relax

from frontends.torch.reader import operator_of, values_of
from qnn_ops.arrays import Array
from qnn_ops.dialect.expressions import Expression
from qnn_ops.modules import Rules


@dataclass(frozen=True)
class Call:
    """A node of a program, while TVM's importer builds the function.

    Attributes:
        node: the node.
        importer: TVM's.
        constants: of the program, by the names of their nodes.
    """

    node: Any
    importer: Any
    constants: Mapping[str, Array]

    @property
    def values(self) -> list[Any]:
        """The arguments in the order of the operator's signature, including defaults."""
        return values_of(self.node)

    @property
    def dtype(self) -> str:
        """The dtype of the result."""
        return str(self.node.meta["val"].dtype).removeprefix("torch.")

    def expr(self, node: Any) -> Any:
        """Return the value of a node as Relax's expression."""
        return self.importer.env[node]

    def array(self, node: Any) -> Any:
        """Return the value of a node as an ``Expression``."""
        return Expression(self.importer.block_builder, self.expr(node))

    def emit(self, expr: relax.Expr) -> relax.Var:
        """Bind an expression to a variable."""
        return self.importer.block_builder.emit(expr)

    def by_tvm(self, name: str = "") -> Any:
        """Import the node by TVM's own rule for its operator, or for another one."""
        rules = type(self.importer).create_convert_map(self.importer)
        return rules[name or operator_of(self.node)](self.node)


Rule = Callable[[Call], Any]
"""Returns the value of a node: Relax's expression, an ``Expression``, or a tuple of values."""


OWN = Rules[str, Rule]()
"""The rules of operators that TVM's importer lacks or computes differently, by their names."""

CHECKS = Rules[str, Callable[[Any], None]]()
"""The checks of nodes, which raise an ``UnsupportedError``, by the names of their operators."""


def adapted(rule: Rule, constants: Mapping[str, Array]) -> Callable[[Any, Any], Any]:
    """Return a rule in the form that TVM's importer calls."""

    def convert(node: Any, importer: Any) -> Any:
        found = rule(Call(node, importer, constants))
        found = found.expr if isinstance(found, Expression) else found
        is_bound = isinstance(found, relax.Var) or not isinstance(found, relax.Expr)
        return found if is_bound else importer.block_builder.emit(found)

    return convert
