"""Quantized operators of a model as groups, and groups whose integers would be others here."""

from __future__ import annotations

from contextlib import suppress

import frontends.onnx.replacements  # noqa: F401 (registers the rules)
from frontends.errors import UnsupportedError
from frontends.onnx.graph.folding import fold
from frontends.onnx.graph.graph import Graph, makers
from frontends.onnx.graph.shapes import infer
from frontends.onnx.read.names import all_nodes, attributes_of, refuse
from frontends.onnx.replacements.registry import RULES, apply_rule
from qnn_ops.errors import QnnError

_STANDARD = ("DequantizeLinear", "QuantizeLinear")
"""Operators that both domains have alike."""
_OF_SHAPES = (
    *("Attention", "FusedMatMul", "GroupQueryAttention", "MultiHeadAttention", "QAttention"),
    "RotaryEmbedding",
)
"""Operators that are written by the shapes of their operands, such as masks."""


def check_groups(graph: Graph) -> None:
    """Raise if there are groups whose integers would be others here than ONNX Runtime's.

    ONNX Runtime makes integers, too, or other operators, where an encoding is no constant.

    Args:
        graph: of the file's operators.

    Raises:
        UnsupportedOperatorError: it names an operator of each group.
    """
    reason = "an operator beside it computes with a scale or zero point that is no constant"
    reason += ", or of blocks"
    made, readers = graph.index().made, graph.readers
    found = {}
    for number, node in enumerate(graph.node):
        if node.op_type not in _STANDARD:
            continue
        has_blocks = any(each.name == "block_size" and each.i for each in node.attribute)
        if not has_blocks and all(not name or name in graph.constants for name in node.input[1:3]):
            continue
        if node.op_type == "QuantizeLinear":
            others = {made[name].op_type for name in node.input[:1] if name in made}
        else:
            others = {each.op_type for name in node.output for each in readers.get(name, ())}
        if others - {*_STANDARD}:
            found[number] = reason
    refuse(graph.node, found)


_OTHER = "com.microsoft"
_DOMAINS = ("", "ai.onnx", _OTHER)
_ROUNDS = 64
"""Each finds what operators stand for whose operands' shapes the one before has found."""


def grouped(graph: Graph) -> tuple[Graph, dict[int, str]]:
    """Write quantized operators of a model as groups.

    Returns:
        The new graph, and why nodes have no group, by their numbers; these are in the new graph.
    """
    groups, missing = graph.copy(), dict[int, str]()
    for number, node in enumerate(groups.rewritten()):
        rule = RULES.get(node.op_type) if node.domain in _DOMAINS else None
        try:
            if node.op_type in _STANDARD and node.domain == _OTHER:
                raise ValueError("too few tensors")
            if rule is None:
                groups.node.append(node)
            else:
                apply_rule(groups, node, attributes_of(node))
        except UnsupportedError as error:
            missing[number] = str(error)
        except (LookupError, TypeError, ValueError):
            missing[number] = "its operands or attributes are not those of the operator"
        if number in missing:
            groups.node[len(groups.sources) :] = [node]
        groups.sources += [number] * (len(groups.node) - len(groups.sources))
    return groups, missing


def write_groups(graph: Graph) -> None:
    """Write quantized operators as groups.

    Raises:
        UnsupportedOperatorError: it names the nodes that have no group.
    """
    groups, missing = grouped(graph)
    refuse(graph.node, missing)
    graph.become(groups)


def find_needed_types(graph: Graph) -> None:
    """Find types, where they decide what operators or encodings are written."""
    is_of_shapes = any(node.op_type in _OF_SHAPES for node in graph.node)
    if is_of_shapes or _computes_encodings(graph):
        infer(graph)
        fold(graph)
    if is_of_shapes:
        find_known_types(graph)


def _computes_encodings(graph: Graph) -> bool:
    """Tell whether nodes make scales or zero points, perhaps of constants."""
    made = makers(graph.node)
    pairs = (node for node in graph.node if node.op_type in _STANDARD)
    return any(name in made for node in pairs for name in node.input[1:])


def find_known_types(graph: Graph) -> tuple[Graph, dict[int, str], Graph]:
    """Find the types of tensors, also behind operators that the standard has not.

    Args:
        graph: whose shapes were inferred, or a model that is known less well. It gets the types.

    Returns:
        What the nodes stand for, why some cannot be imported, by their numbers, and the graph of
        what they stand for with its types.
    """
    count = -1
    for _ in range(_ROUNDS):
        groups, missing = grouped(graph)
        written = groups
        with suppress(QnnError):
            typed = groups.copy()
            infer(typed)
            fold(typed)
            written = typed
        _state_types(graph, written)
        if len(graph.value_info) == count:
            break
        count = len(graph.value_info)
    return groups, missing, written


def _state_types(graph: Graph, written: Graph) -> None:
    """State the types of a graph's own tensors."""
    stated = {each.name for each in (*graph.input, *graph.output)}
    own = makers(graph.node).keys() - stated
    found = {each.name: each for each in graph.value_info}
    found |= {each.name: each for each in written.value_info if each.name in own}
    graph.value_info = [*found.values()]
    graph.find_types()


def write_standard_pairs(graph: Graph) -> None:
    """Make QuantizeLinear and DequantizeLinear the standard's, but those of too few tensors.

    So the package knows their types, in inner graphs, too.
    """
    for node in all_nodes(graph):
        is_whole = len(node.input) >= 2 and len(node.output) == 1
        if node.op_type in _STANDARD and node.domain == _OTHER and is_whole:
            node.domain = ""
