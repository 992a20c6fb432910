"""Writes quantized operators as groups; refuses groups whose integers would differ here."""

from contextlib import suppress

import frontends.onnx.replacements  # noqa: F401 (registers the rules)
from frontends.errors import UnsupportedError
from frontends.onnx.graph.folding import fold
from frontends.onnx.graph.graph import Graph, makers
from frontends.onnx.graph.shapes import infer
from frontends.onnx.read.names import all_nodes, attributes_of, refuse
from frontends.onnx.read.standard import DOMAINS
from frontends.onnx.replacements.registry import RULES, apply_rule
from qnn_ops.errors import QnnError

_STANDARD = ("DequantizeLinear", "QuantizeLinear")
"""Operators that both domains have."""
_OF_SHAPES = (
    *("Attention", "FusedMatMul", "GroupQueryAttention", "MultiHeadAttention", "QAttention"),
    "RotaryEmbedding",
)
"""Operators whose replacement depends on the shapes of operands, such as masks."""


def check_groups(graph: Graph) -> None:
    """Raise if there are groups whose integers would differ from ONNX Runtime's.

    ONNX Runtime also makes integer operators, or other ones, of groups whose encoding is not
    constant.

    Args:
        graph: a graph of the file's operators.

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
_DOMAINS = (*DOMAINS, _OTHER)
_ROUNDS = 64
"""The most rounds: each one writes operators whose operands' shapes the round before has found."""


def grouped(graph: Graph) -> tuple[Graph, dict[int, str]]:
    """Write quantized operators of a model as groups.

    Returns:
        The new graph, and the reasons why nodes have no group, by their indices; these nodes stay
        in the new graph.
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
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
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
    """Infer types, if operators or encodings depend on them."""
    made, is_of_shapes = makers(graph.node), any(each.op_type in _OF_SHAPES for each in graph.node)
    pairs = (node for node in graph.node if node.op_type in _STANDARD)
    if is_of_shapes or any(name in made for node in pairs for name in node.input[1:]):
        infer(graph)
        fold(graph)
    if is_of_shapes:
        find_known_types(graph)


def find_known_types(graph: Graph) -> tuple[Graph, dict[int, str], Graph]:
    """Infer the types of tensors, also behind operators that the standard lacks.

    Args:
        graph: a graph with inferred shapes, or a model of which less is known. It gets the types.

    Returns:
        The graph of groups; the reasons why nodes cannot be imported, by their indices; and the
        graph of groups with types.
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
    """Add inferred types to a graph, for its own tensors only."""
    stated = {each.name for each in (*graph.input, *graph.output)}
    own = makers(graph.node).keys() - stated
    found = {each.name: each for each in graph.value_info}
    found |= {each.name: each for each in written.value_info if each.name in own}
    graph.value_info = [*found.values()]
    graph.find_types()


def write_standard_pairs(graph: Graph) -> None:
    """Move QuantizeLinear and DequantizeLinear, unless they lack tensors, to the standard's domain.

    Then the package onnx knows their types, also in inner graphs.
    """
    for node in all_nodes(graph):
        is_whole = len(node.input) >= 2 and len(node.output) == 1
        if node.op_type in _STANDARD and node.domain == _OTHER and is_whole:
            node.domain = ""
