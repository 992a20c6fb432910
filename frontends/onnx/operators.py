"""The operators that are imported: a table of the attributes that some of them refuse."""

from collections.abc import Callable
from typing import Any, NamedTuple

import frontends.onnx.converters  # noqa: F401 (registers the rules)
from frontends.onnx.converters.registry import CONVERTERS
from frontends.onnx.graph.graph import Graph
from frontends.onnx.read.names import attributes_of, refuse
from frontends.onnx.read.standard import BROADCASTING, DOMAINS, FLOAT, MOVING, UNARY

_FLOAT8 = range(17, 21)


class Refusal(NamedTuple):
    """A value of an attribute with which an operator is not imported.

    Attributes:
        attribute: its name.
        holds: tells whether it is such a value; a missing attribute is 0.
        reason: the reason for the error.
    """

    attribute: str
    holds: Callable[[Any], bool]
    reason: str

    def fits(self, attributes: dict[str, Any]) -> bool:
        """Tell whether the attributes of a node have such a value."""
        return self.holds(attributes.get(self.attribute, 0))


_OPEN = (
    "how many iterations it has depends on the data, which values of inputs at import may tell, or "
    "they would make more than 2,048 operators"
)

_OF_TVM = (
    *(*BROADCASTING, *UNARY, *MOVING),
    *("ArgMax", "ArgMin", "Constant", "ConstantOfShape", "CumSum", "DepthToSpace", "Einsum"),
    *("GatherND", "Gemm", "GlobalMaxPool", "GridSample", "GroupNormalization", "Hardmax"),
    *("InstanceNormalization", "LRN", "LogSoftmax", "MatMul", "ReduceSum", "Scatter"),
    *("ScatterElements", "ScatterND", "Size", "Softmax", "Split", "Trilu"),
)
"""Operators that TVM's importer converts, unless there is a rule for them here."""

_OF_MANY = ("Concat", "Einsum", "Max", "Mean", "Min", "Sum")
"""Operators of any number of operands, of which none may be left out; TVM would crash."""

_LEFT = {"Scan": _OPEN}
"""Reasons why operators remain that are usually written as others."""

_NO_AXES = "no axes are all axes: noop_with_empty_axes is not imported"

OPERATORS: dict[str, Refusal | None] = {
    **dict.fromkeys((*CONVERTERS, *_OF_TVM)),
    **dict.fromkeys(
        ("ReduceL1", "ReduceL2", "ReduceProd", "ReduceSumSquare"),
        Refusal("noop_with_empty_axes", bool, _NO_AXES),
    ),
    "Cast": Refusal(
        "to", lambda kind: kind in _FLOAT8, "float8 without a bound (saturate) is not imported"
    ),
    "DequantizeLinear": Refusal(
        "output_dtype",
        lambda kind: kind not in (0, FLOAT),
        "real numbers and scales must be float32",
    ),
    # Loops that could be unrolled are gone here. The inputs of a body begin with the iteration's
    # number and a flag, its outputs begin with a flag; results of all iterations come last.
    "Loop": Refusal(
        "body",
        lambda body: not body or len(body.output) >= len(body.input),
        f"it has results of all iterations, and {_OPEN}",
    ),
    "QuantizeLinear": Refusal(
        "precision", lambda kind: kind not in (0, FLOAT), "a stated precision is not imported"
    ),
}
"""By the operator's name; all are of the standard's domain."""


def check_operators(graph: Graph) -> None:
    """Raise if there are operators that cannot be imported; the error names them all."""
    refuse(graph.node, reasons(graph.node))


def reasons(nodes: Any) -> dict[int, str]:
    """Return the reasons why nodes cannot be imported, by the nodes' indices."""
    found: dict[int, str] = {}
    for number, node in enumerate(nodes):
        if node.domain not in DOMAINS or node.op_type not in OPERATORS:
            found[number] = _LEFT.get(node.op_type, "no conversion rule")
        elif node.op_type in _OF_MANY and "" in node.input:
            found[number] = "one of its operands is left out"
        elif (refusal := OPERATORS[node.op_type]) and refusal.fits(attributes_of(node)):
            found[number] = refusal.reason
    return found
