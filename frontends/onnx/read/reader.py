"""Reads and checks ONNX models."""

import os
from collections.abc import Sequence
from contextlib import suppress
from graphlib import CycleError, TopologicalSorter
from heapq import heappop, heappush
from typing import Any

from frontends.errors import ModelFormatError
from frontends.onnx.read.constants import move_constants
from frontends.onnx.read.limits import check_batches, check_equations
from frontends.onnx.read.mapped import is_external, is_mapped, map_constants, without_mapped
from frontends.onnx.read.names import (
    all_nodes,
    graphs_of,
    inner_graphs,
    line_of,
    name_custom_operators,
    onnx_package,
    opset_of,
    read_by,
    read_inside,
)
from qnn_ops.errors import QnnError

MOST = 100_000
"""The most nodes of a model whose functions are written out."""

_STRANGE, _OTHER_DOMAIN = "SimplifiedLayerNormalization", "tvm_qnn.unchecked"


def read_proto(model: Any) -> Any:
    """Return a checked ``ModelProto`` whose constants are all initializers.

    Large constants in files beside the model's stay there; ``array_of`` reads them.

    Args:
        model: a path, a file's contents, or a ``ModelProto``, which is not changed.

    Raises:
        ModelFormatError: the model is malformed, or its constants are missing.
        QnnError: the package onnx is missing, or the model needs operators of another version.
        OSError: the file cannot be read.
    """
    onnx = onnx_package()
    proto = onnx.ModelProto()
    if isinstance(model, onnx.ModelProto):
        proto.CopyFrom(model)
    elif isinstance(model, bytes | bytearray | memoryview):
        _parse(proto, bytes(model))
    elif isinstance(model, str | os.PathLike):
        with open(model, "rb") as file:
            _parse(proto, file.read())
        map_constants(proto, os.path.dirname(os.path.abspath(model)))
    else:
        raise QnnError(f"an ONNX model is a path, bytes or ModelProto, got {type(model).__name__}")
    try:
        tidy(proto)
        check_equations(proto)
        check_batches(proto)
    except UnicodeDecodeError as error:  # of the protobuf library
        text = f"a name is no text in UTF-8 ({error.object!r})"
        raise ModelFormatError(f"the ONNX model is malformed: {text}") from None
    _check_external(proto)
    _check_model(onnx, proto)
    proto = _of_later_opset(without_functions(proto))
    move_constants(proto.graph)
    name_custom_operators(proto.graph)
    return proto


def _check_model(onnx: Any, proto: Any) -> None:
    """Raise if the package finds a fault, except for a missing shape, or type of an output."""
    trial = without_mapped(proto)
    for value in trial.graph.output:
        if value.type.WhichOneof("value") is None:  # the package wants some type
            value.type.tensor_type.elem_type = 0
    for value in (*trial.graph.input, *trial.graph.output):
        if value.type.WhichOneof("value") == "tensor_type":
            value.type.tensor_type.shape.SetInParent()
    # ONNX Runtime has this operator in the standard's domain; the package does not know it there.
    for node in trial.graph.node:
        if node.op_type == _STRANGE and not node.domain:
            node.domain = _OTHER_DOMAIN
    trial.opset_import.append(onnx.helper.make_opsetid(_OTHER_DOMAIN, 1))
    try:
        onnx.checker.check_model(trial)
    except Exception as error:  # of onnx.checker, and of the protobuf library on its way
        raise ModelFormatError(f"the ONNX model is malformed: {line_of(error)}") from None


def _parse(proto: Any, content: bytes) -> None:
    try:
        proto.ParseFromString(content)
    except Exception as error:  # DecodeError, of the library that protobuf uses
        raise ModelFormatError(f"the ONNX model is malformed: {line_of(error)}") from None
    if not proto.HasField("graph"):
        raise ModelFormatError("the ONNX model is malformed: it has no graph")


def _check_external(proto: Any) -> None:
    for sparse in proto.graph.sparse_initializer:
        raise ModelFormatError(f"the constant {sparse.values.name!r} is sparse: write it in full")
    for tensor in proto.graph.initializer:
        if is_external(tensor) and not is_mapped(tensor):
            raise ModelFormatError(
                f"the constant {tensor.name!r} is in another file: give the model's path"
            )


def _of_later_opset(proto: Any) -> Any:
    """Return a model of an imported version; the package rewrites operators of earlier versions."""
    version = opset_of(proto)
    if LEAST_OPSET <= version <= MOST_OPSET:
        return proto
    if FIRST_OPSET <= version < LEAST_OPSET and not any(map(is_mapped, proto.graph.initializer)):
        from onnx import version_converter

        # Any exception of the package's library means that it cannot rewrite the model.
        with suppress(Exception):
            return version_converter.convert_version(proto, LEAST_OPSET)
    raise QnnError(
        f"the model needs operators of version {version or 'unknown'}: "
        f"versions {LEAST_OPSET} to {MOST_OPSET} are imported; onnx.version_converter changes "
        "it"
    )


def without_functions(proto: Any) -> Any:
    """Return the model with its functions inlined, or the model itself if it has none.

    Raises:
        ModelFormatError: a function calls itself, or all of them would make too many nodes.
    """
    if not proto.functions:
        return proto
    # A file may have functions of which each calls the next one twice.
    if _count(proto) > MOST:
        raise ModelFormatError(f"the model's functions make more than {MOST:,} nodes")
    try:
        return onnx_package().inliner.inline_local_functions(proto)
    except Exception as error:  # of the package's library
        raise ModelFormatError(f"the model's functions: {' '.join(str(error).split())}") from None


def _count(proto: Any) -> int:
    """Return how many nodes a written-out model has; a number above ``MOST`` is a lower bound."""
    functions = {(each.domain, each.name): each for each in proto.functions}
    counts: dict[tuple[str, str], int] = {}
    is_open = -1

    def of_node(node: Any) -> int:
        key = (node.domain, node.op_type)
        if key not in functions:
            return 1
        if key not in counts:
            counts[key] = is_open
            counts[key] = of_graph(functions[key])
        if counts[key] == is_open:
            raise ModelFormatError(f"the model's function {node.op_type!r} calls itself")
        return counts[key]

    def of_graph(graph: Any) -> int:
        return min(sum(map(of_node, all_nodes(graph))), MOST + 1)

    return of_graph(proto.graph)


_WITH_FREE_CONSTANTS = 4
"""The first version of the format in which constants need not be inputs."""

_STATED = "ai.onnx"
"""The standard's domain by name; the package requires the empty name instead."""

FIRST_OPSET, LEAST_OPSET, MOST_OPSET = 7, 10, 28
"""The versions of the standard's operators.

ONNX Runtime accepts versions from the first on. The versions from the second to the last are
imported; the second is the earliest with quantized operators.
"""

_UNDECLARED = {"": MOST_OPSET, "com.microsoft": 1}
"""The version of each domain that ONNX Runtime adds if a model declares only other domains."""


def tidy(proto: Any) -> None:
    """Change a model in place; its results stay the same.

    Nodes come after the nodes whose results they read, also in inner graphs and functions. Unread
    constants are removed; of constants with the same name the last one stays. Graphs without a name
    get one. Domains get versions if the model declares only other domains.

    Raises:
        ModelFormatError: nodes read one another in a circle, or a node reads a tensor that nothing
            makes.
    """
    del proto.metadata_props[:]
    if 0 < proto.ir_version < _WITH_FREE_CONSTANTS:
        proto.ir_version = _WITH_FREE_CONSTANTS
        constants = {tensor.name for tensor in proto.graph.initializer}
        inputs = [value for value in proto.graph.input if value.name not in constants]
        del proto.graph.input[:]
        proto.graph.input.extend(inputs)
    for opset in proto.opset_import:
        opset.domain = "" if opset.domain == _STATED else opset.domain
    if declared := {opset.domain for opset in proto.opset_import}:
        for domain in _UNDECLARED.keys() - declared:
            proto.opset_import.add(domain=domain, version=_UNDECLARED[domain])
    for graph in (proto.graph, *inner_graphs(proto.graph)):
        graph.name = graph.name or "graph"
    _drop_constants(proto.graph)
    for function in proto.functions:
        _order(function.node, (set(function.input),))
    _order_graph(proto.graph, ())


def _drop_constants(graph: Any) -> None:
    read = {*filter(None, read_inside(graph)), *(value.name for value in graph.input)}
    names = [tensor.name for tensor in graph.initializer]
    last = {name: number for number, name in enumerate(names)}
    for number in reversed(range(len(names))):
        if names[number] not in read or last[names[number]] != number:
            del graph.initializer[number]
        elif (tensor := graph.initializer[number]).HasField("raw_data"):
            for other in ("float_data", "int32_data", "int64_data", "double_data", "uint64_data"):
                tensor.ClearField(other)


def _order_graph(graph: Any, outer: Sequence[set[str]]) -> None:
    own = {value.name for value in graph.input} | {each.name for each in graph.initializer}
    own |= {each.values.name for each in graph.sparse_initializer}
    _order(graph.node, (own, *outer))


def _order(nodes: Any, scopes: tuple[set[str], ...]) -> None:
    """Sort nodes and the nodes of inner graphs, which see all names of their outer graphs."""
    made = {name: number for number, node in enumerate(nodes) for name in node.output if name}
    needs: list[set[int]] = []
    is_ordered = True
    for number, node in enumerate(nodes):
        if node.domain == _STATED:
            node.domain = ""
        reads = {*filter(None, read_by(node))}
        for name in (*reads, *node.output):
            if isinstance(name, bytes):  # protobuf's form of a name that is no text
                name.decode()
        if odd := [n for n in reads if n not in made and not any(n in each for each in scopes)]:
            raise ModelFormatError(
                f"the ONNX model is malformed: the {node.op_type} of {[*node.output]} reads "
                f"{min(odd, key=repr)!r}, which nothing makes"
            )
        needs.append({made[name] for name in reads if name in made})
        is_ordered &= max(needs[-1], default=-1) < number
    if not is_ordered:
        ranks = iter(_ranks(nodes, needs))
        nodes.sort(key=lambda _: next(ranks))  # sort asks for the keys from left to right
    for node in nodes:
        for inner in graphs_of(node):
            _order_graph(inner, ({*made}, *scopes))


def _ranks(nodes: Any, needs: list[set[int]]) -> list[int]:
    """Return the index of each node: among the nodes that can be next, the file's first is."""
    sorter, ready, ranks = TopologicalSorter(dict(enumerate(needs))), list[int](), [-1] * len(needs)
    try:
        sorter.prepare()
    except CycleError as error:
        circle = [nodes[number] for number in error.args[1][:0:-1]]
        text = ", ".join(f"{node.op_type} {node.output[0]!r}" for node in circle[:8])
        text = f"the ONNX model is malformed: nodes read one another in a circle: {text}"
        raise ModelFormatError(text) from None
    for index in range(len(needs)):
        for number in sorter.get_ready():
            heappush(ready, number)
        ranks[number := heappop(ready)] = index
        sorter.done(number)
    return ranks
