"""Bounds of what a model makes, before anything is computed: see ``frontends.bounds``."""

from __future__ import annotations

from math import prod
from typing import Any

from frontends.bounds import Allowance, bytes_of, check_grown
from frontends.errors import UnsupportedError, UnsupportedOperatorError
from frontends.onnx.constants import kind_of
from frontends.onnx.control import with_closed_branches
from frontends.onnx.folding import with_folded_shapes
from frontends.onnx.reader import NO_DATA, Shapes, with_shapes
from frontends.onnx.tensors import dtypes_of, shapes_of

_FOLLOWED = frozenset(
    (
        *("Add", "Cast", "Concat", "Gather", "Identity", "Mul", "Reshape", "Slice", "Split"),
        *("Squeeze", "Sub", "Unsqueeze"),
    )
)
"""Operators whose values the package's shape inference follows."""

_ROUNDS = 4
_MOST_FOLLOWED = 1 << 21
"""Numbers; it takes some seventy bytes for each."""


def with_bounds(proto: Any, shapes: Shapes | None) -> Any:
    """Return the model, in which shape inference follows values if these are few.

    Args:
        proto: from ``read_proto``.
        shapes: of inputs by name, where they are not the file's.

    Raises:
        UnsupportedOperatorError: it makes more than it may; names the operators.
        QnnError: a shape is not known.
    """
    trial = with_closed_branches(proto)
    trial.metadata_props.add().key = NO_DATA
    trial = with_folded_shapes(with_shapes(trial, shapes), rounds=_ROUNDS)
    check_growth(trial.graph, proto.graph.initializer)
    known = shapes_of(trial.graph) | {
        each.name: tuple(each.dims) for each in trial.graph.initializer
    }
    sizes = [
        prod(known.get(name, ()))
        for node in trial.graph.node
        if node.op_type in _FOLLOWED
        for name in (*node.input, *node.output)
        if len(known.get(name, ())) == 1
    ]
    if sum(sizes) <= _MOST_FOLLOWED:
        return proto
    result = type(proto)()
    result.CopyFrom(proto)
    result.metadata_props.add().key = NO_DATA
    return result


def check_growth(graph: Any, given: Any) -> None:
    """Check what a model makes of its constants, and of what a run gives.

    Args:
        graph: whose shapes were inferred.
        given: the constants that the file has, as TensorProto.

    Raises:
        UnsupportedOperatorError: it names the nodes whose results are too large.
    """
    shapes, dtypes, found = shapes_of(graph), dtypes_of(graph), {}
    held = sum(bytes_of(each.dims, kind_of(each)) for each in given)
    names = [value.name for value in graph.input]
    total = held + sum(
        bytes_of(shapes.get(name, ()), dtypes.get(name, "float32")) for name in names
    )
    constants = {tensor.name for tensor in graph.initializer}
    allowance = Allowance(held)
    for number, node in enumerate(graph.node):
        is_constant = all(name in constants for name in node.input if name) and not _inner(node)
        constants |= {name for name in node.output if name and is_constant}
        try:
            for name in filter(shapes.__contains__, node.output):
                if is_constant:
                    allowance.make(shapes[name], dtypes.get(name, "float32"))
                else:
                    check_grown(shapes[name], dtypes.get(name, "float32"), total)
        except UnsupportedError as error:
            found[number] = str(error)
    if found:
        raise UnsupportedOperatorError(
            [
                (n, graph.node[n].op_type, text, list(graph.node[n].output))
                for n, text in found.items()
            ]
        )


def _inner(node: Any) -> bool:
    return any(each.HasField("g") or each.graphs for each in node.attribute)
