"""Values of nodes whose operands are known: arrays of numbers, or of numbers and open sizes."""

from collections.abc import Callable
from contextlib import suppress
from math import prod
from typing import Any

import numpy as np

from frontends.onnx.graph.graph import Graph
from frontends.onnx.read.constants import Array
from frontends.onnx.read.deciding import EXACT
from frontends.onnx.read.names import attributes_of, onnx_package
from frontends.onnx.read.standard import BROADCASTING, INT32, INT64, UNARY
from qnn_ops.dialect.known_values import equal
from qnn_ops.dialect.sizes import OpenSizeError, Size

Attributes = dict[str, Any]


def evaluated(graph: Graph, node: Any, operands: dict[str, Array]) -> list[Array]:
    """Compute a node with the package onnx.

    Args:
        graph: the model; it states the versions of operators.
        node: an operator of the standard.
        operands: by name.

    Raises:
        Exception: of numpy or the package onnx, if the operands do not fit the operator.
    """
    from onnx.reference import ReferenceEvaluator

    onnx = onnx_package()
    values = [onnx.helper.make_empty_tensor_value_info(name) for name in operands]
    results = [onnx.helper.make_empty_tensor_value_info(name) for name in node.output if name]
    single = onnx.helper.make_graph([node], "one", values, results)
    model = onnx.helper.make_model(single, opset_imports=graph.head.opset_import)
    found = iter(ReferenceEvaluator(model).run(None, operands))
    return [np.asarray(next(found) if name else 0) for name in node.output]


def of_open_sizes(graph: Graph, node: Any, operands: dict[str, Array]) -> Array | None:
    """Return the value of a node that computes sizes.

    Returns:
        int64, bool, or ``Size`` objects among numbers. None if the operator's results are not
        exact, an operand is real, or no expression of open sizes can represent the value.
    """
    is_whole = all(each.dtype.kind in "biuO" for each in operands.values())
    # Folding computes a Range, whose numbers may be too many.
    if node.op_type not in EXACT - {"Range"} or not is_whole:
        return None
    shape = None
    with suppress(Exception):  # of numpy, the package onnx or open sizes
        if node.op_type in (*BROADCASTING, *UNARY):  # the package takes one dtype, and no scalars
            shape = np.broadcast_shapes(*(each.shape for each in operands.values()))
            operands = {name: np.atleast_1d(each.astype(object)) for name, each in operands.items()}
        if (rule := _OF_SIZES.get(node.op_type)) is None:
            found = evaluated(graph, node, operands)[0]
        else:
            found = rule(attributes_of(node), *(operands[name] for name in node.input))
        return plain(np.asarray(found) if shape is None else np.reshape(found, shape))
    return None


def told_size(node: Any, shape: tuple[int, ...]) -> Array:
    """Return the value of a Shape or Size of data of a shape, whose sizes may be open."""
    given = attributes_of(node)
    sizes = shape[given.get("start", 0) : given.get("end")]
    return plain(np.array(prod(shape) if node.op_type == "Size" else sizes, object))


def plain(value: Array) -> Array:
    """Return integers as int64 if no size among them is open."""
    if value.dtype != object or any(isinstance(each, Size) for each in value.flat):
        return value
    is_truth = any(isinstance(each, bool | np.bool_) for each in value.flat)
    return value.astype(bool if is_truth else np.int64)


def _cast(attributes: Attributes, sizes: Array) -> Array:
    if attributes["to"] not in (INT32, INT64):
        raise OpenSizeError("a size is cast to no integer")
    numbers = [int(each) if isinstance(each, bool | np.bool_) else each for each in sizes.flat]
    return np.array([*numbers, None], object)[:-1].reshape(sizes.shape)


def _divided(value: Any, by: Any) -> Any:
    """Divide integers, and round towards zero."""
    if value >= 0 and by > 0:
        return value // by
    if isinstance(value, Size) or isinstance(by, Size):
        raise OpenSizeError("a size that may be below 0 is divided")
    return int(np.trunc(value / by))


_OF_SIZES: dict[str, Callable[..., Any]] = {
    "Cast": _cast,
    "Div": lambda _, *sizes: np.frompyfunc(_divided, 2, 1)(*sizes),
    "Equal": lambda _, *sizes: equal(*sizes),
    "Gather": lambda given, sizes, at: np.take(sizes, at, given.get("axis", 0)),
}
"""``rule(attributes, *operands)``, for what the package onnx computes of numbers alone."""
