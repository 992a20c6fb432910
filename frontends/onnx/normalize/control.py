"""Removal of inner graphs: branches and loop iterations are written into the outer graph."""

from collections.abc import Mapping
from itertools import count
from typing import Any

import numpy as np

from frontends.errors import ModelFormatError
from frontends.onnx.graph.folding import fold
from frontends.onnx.graph.graph import Graph
from frontends.onnx.graph.shapes import infer
from frontends.onnx.graph.subgraphs import inline, prepared, rename, state_plain
from frontends.onnx.normalize.unrolling import unroll
from frontends.onnx.read.names import (
    graph_of,
    is_of_standard,
    onnx_package,
    read_outside,
    refuse,
    state,
)
from frontends.onnx.read.standard import FLOAT

_LATER = "tvm_qnn.later"
"""The domain of an If whose branches are read later, when its condition is known."""

_OF_INDICES = ("Gather", "GatherElements", "GatherND", "ScatterElements", "ScatterND")
_BRANCHES = {True: "then_branch", False: "else_branch"}


def closed_branches(graph: Graph) -> Graph:
    """Return a copy whose branches shape inference ignores: one that is not taken need not fit."""
    result = graph.copy()
    result.head.opset_import.append(onnx_package().helper.make_opsetid(_LATER, 1))
    make = onnx_package().helper.make_node
    result.node = [
        make("If", [*node.input], [*node.output], domain=_LATER) if is_if(node) else node
        for node in graph.node
    ]
    return result


def take_branches(graph: Graph, constants: Mapping[str, Any]) -> bool:
    """Write branches in place of If nodes whose conditions are constants.

    ONNX Runtime does the same before it looks for groups.

    Args:
        graph: the model.
        constants: of the model, and values that follow from shapes.

    Returns:
        Whether a condition was a constant.

    Raises:
        ModelFormatError: a branch is malformed.
    """
    numbers = count()

    def rule(graph: Graph, node: Any) -> bool:
        if not is_if(node) or node.input[0] not in constants:
            return False
        branch = _branch(node, bool(constants[node.input[0]].all()))
        results = {index: name for index, name in enumerate(node.output) if name}
        inline(graph, branch, f"{graph.prefix}{next(numbers)}_", {}, results)
        return True

    return graph.apply(rule)


def write_choices(graph: Graph) -> bool:
    """Replace each If node by both branches and a choice between their results.

    Args:
        graph: the model; none of its conditions is a constant.

    Returns:
        Whether it has an If.

    Raises:
        ModelFormatError: a branch is malformed.
        UnsupportedOperatorError: two branches give tensors of different shapes.
        QnnError: a shape is not known.
    """
    outer = {node.output[0] for node in graph.node if is_if(node)}  # others are in branches
    if not outer:
        return False
    _write_both(graph)
    typed, prefix = graph.copy(), graph.prefix
    infer(typed)
    scalar = graph.constant(np.array([], np.int64), f"{prefix}scalar")
    given, graph.node = graph.node, []
    for number, node in enumerate(given):
        if not is_if(node) or node.output[0] not in outer:
            graph.node.append(node)
            continue
        chosen = graph.add("Reshape", node.input[0], scalar, output=f"{prefix}{node.output[0]}")
        for index, output in enumerate(node.output):
            if not output:
                continue
            names = [_result_name(prefix, node, which, index) for which in _BRANCHES]
            found = [typed.shapes.get(name) for name in names]
            if found[0] is None or found[0] != found[1]:
                reason = f"the data choose between results of shapes {found[0]} and {found[1]}"
                reason += "; values of inputs at import may choose"
                refuse(given, {number: reason})
            if _branch(node, True).output[index].type.tensor_type.elem_type == FLOAT:
                names = [graph.apart(name, f"{name}_cast") for name in names]
            graph.add("Where", chosen, *names, output=output)
    return True


def _write_both(graph: Graph) -> None:
    """Write the nodes of branches before their If nodes."""
    typed = graph.copy()
    infer(typed)
    for node in graph.rewritten():
        for which in _BRANCHES if is_if(node) else ():
            stem = f"{graph.prefix}{node.output[0]}_{which}_"
            branch = prepared(graph, _branch(node, which), typed, stem)
            names = [_result_name(graph.prefix, node, which, i) for i in range(len(node.output))]
            for each in branch.node:
                if each.op_type in _OF_INDICES:  # the branch may not be taken
                    state(each, "nearest", 1)
            inline(graph, branch, stem, {}, dict(enumerate(names)))
        graph.node.append(node)


def _result_name(prefix: str, node: Any, which: bool, index: int) -> str:
    return f"{prefix}{node.output[0]}_{which}_result_{index}"


def is_if(node: Any) -> bool:
    """Tell whether a node is an If."""
    return is_of_standard(node, "If")


def _branch(node: Any, condition: bool) -> Any:
    name = _BRANCHES[condition]
    branch = graph_of(node, name)
    if branch is None or len(branch.output) != len(node.output):
        raise ModelFormatError(f"If that gives {node.output[0]!r} has no {name} of its outputs")
    return branch


_BEFORE_CARRIED = 2
"""The number of operands before the carried ones."""


def close_loops(graph: Graph) -> None:
    """Rewrite Loops so that no body reads a tensor of its outer graph.

    Constants are copied into the body; other tensors become carried ones.

    Args:
        graph: a graph after ``write_subgraphs``.

    Raises:
        ModelFormatError: a body is malformed.
        QnnError: a shape is not known.
    """
    loops = [node for node in graph.node if is_of_standard(node, "Loop")]
    if not loops:
        return
    typed = graph.copy()
    infer(typed)
    for node in loops:
        graph.find_prefix()
        _close(node, typed)
        state(node, "opset", graph.opset)  # of the body's operators, too


def _close(node: Any, graph: Graph) -> None:
    helper, body = onnx_package().helper, graph_of(node, "body")
    if body is None or len(node.input) < _BEFORE_CARRIED:
        raise ModelFormatError(f"the Loop of {list(node.output)} has no body, or no operands")
    carried = len(node.input) - _BEFORE_CARRIED
    if len(body.input) != len(node.input) or len(body.output) <= carried:
        raise ModelFormatError(f"the Loop of {list(node.output)} has a body of other operands")
    if len(body.output) > carried + 1:
        return  # a later check refuses it
    node.output.extend([""] * (carried - len(node.output)))
    stem = f"{graph.prefix}{next(filter(None, node.output), '')}_"
    outside = read_outside(body)
    state_plain(body.node, outside)
    for name in outside:
        inner = f"{stem}in_{name}"
        rename(body, {name: inner})
        if name in graph.constants:
            body.initializer.append(graph.constants.tensor(name))
            body.initializer[-1].name = inner
            continue
        value = helper.make_tensor_value_info(inner, graph.kinds.get(name, 0), None)
        body.input.append(value)
        body.output.append(value)
        node.input.append(name)
        node.output.append(f"{stem}out_{name}")


CONTROL = ("If", "Loop", "Scan")

_ROUNDS = 32
"""The most rounds: the shapes of one branch may decide the next one."""


def write_subgraphs(graph: Graph) -> None:
    """Write out all If nodes, and the Loops and Scans whose number of iterations is known.

    Raises:
        ModelFormatError: a branch or body is malformed, or shapes do not fit.
        UnsupportedOperatorError: the data choose between tensors of different shapes.
        QnnError: a shape is not known.
    """
    for _ in range(_ROUNDS):
        if not any(is_of_standard(node, *CONTROL) for node in graph.node):
            return
        if any(map(is_if, graph.node)):
            known = closed_branches(graph)
            infer(known)
            fold(known)
            if take_branches(graph, known.constants):
                continue
        typed = graph.copy()
        infer(typed)
        known = typed.copy()
        fold(known)
        if not (unroll(graph, typed, known.constants) or write_choices(graph)):
            return
