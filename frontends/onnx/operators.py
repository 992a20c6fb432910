"""The operators that are imported: a table of checks of their attributes."""

from collections.abc import Callable
from typing import Any

import frontends.onnx.converters  # noqa: F401 (registers the rules)
from frontends.errors import UnsupportedError
from frontends.onnx.converters.registry import CONVERTERS
from frontends.onnx.graph.graph import Graph
from frontends.onnx.read.names import attributes_of, refuse
from frontends.onnx.read.standard import BROADCASTING, DOMAINS, FLOAT, MOVING, UNARY

_FLOAT8 = range(17, 21)

Attributes = dict[str, Any]
Check = Callable[[Attributes], None]
"""Raises UnsupportedError if an operator with these attributes is not imported."""


def _anything(_attributes: Attributes) -> None:
    """Accept all attributes."""


def _quantize(attributes: Attributes) -> None:
    if attributes.get("precision", 0) not in (0, FLOAT):
        raise UnsupportedError("a stated precision is not imported")


def _dequantize(attributes: Attributes) -> None:
    if attributes.get("output_dtype", 0) not in (0, FLOAT):
        raise UnsupportedError("real numbers and scales must be float32")


def _cast(attributes: Attributes) -> None:
    if attributes.get("to", 0) in _FLOAT8:
        raise UnsupportedError("float8 without a bound (saturate) is not imported")


def _reduction(attributes: Attributes) -> None:
    if attributes.get("noop_with_empty_axes", 0):
        raise UnsupportedError("no axes are all axes: noop_with_empty_axes is not imported")


def _loop(attributes: Attributes) -> None:
    """Refuse results that collect all iterations: loops that could be unrolled are gone here."""
    body = attributes.get("body")
    # The inputs begin with the iteration's number and a flag; the outputs begin with a flag.
    if body is None or len(body.output) >= len(body.input):
        raise UnsupportedError(f"it has results of all iterations, and {_OPEN}")


_OPEN = (
    "how many iterations it has depends on the data, which values of inputs at import may tell, or "
    "they would make more than 2,048 operators"
)

_REDUCTIONS = ("ReduceL1", "ReduceL2", "ReduceProd", "ReduceSumSquare")

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

OPERATORS: dict[str, Check] = {
    **dict.fromkeys((*CONVERTERS, *_OF_TVM), _anything),
    **dict.fromkeys(_REDUCTIONS, _reduction),
    "Cast": _cast,
    "DequantizeLinear": _dequantize,
    "Loop": _loop,
    "QuantizeLinear": _quantize,
}
"""Checks by the operator's name; all are of the standard's domain."""


def check_operators(graph: Graph) -> None:
    """Raise if there are operators that cannot be imported; the error names them all."""
    refuse(graph.node, reasons(graph.node))


def reasons(nodes: Any) -> dict[int, str]:
    """Return the reasons why nodes cannot be imported, by the nodes' indices."""
    found: dict[int, str] = {}
    for number, node in enumerate(nodes):
        check = OPERATORS.get(node.op_type) if node.domain in DOMAINS else None
        if check is None:
            found[number] = _LEFT.get(node.op_type, "no conversion rule")
            continue
        try:
            if node.op_type in _OF_MANY and "" in node.input:
                raise UnsupportedError("one of its operands is left out")
            check(attributes_of(node))
        except UnsupportedError as error:
            found[number] = str(error)
    return found
