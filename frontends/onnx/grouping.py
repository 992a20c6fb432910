"""Quantized operators of a model as groups, and groups whose integers would be others here."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Mapping
from contextlib import suppress
from typing import Any

from frontends.errors import UnsupportedError, UnsupportedOperatorError
from frontends.onnx.constants import Array, constants_of, inner_graphs
from frontends.onnx.folding import with_folded_shapes
from frontends.onnx.names import attributes_of, free_prefix
from frontends.onnx.package import onnx_package
from frontends.onnx.qoperators import RULES, Groups, apply_rule
from frontends.onnx.reader import opset_of, with_shapes
from frontends.onnx.tensors import shapes_of
from qnn_ops.errors import QnnError

_TWO_PAIRS = ["QuantizeLinear", "DequantizeLinear"] * 2


def check_groups(nodes: list[Any], constants: Container[str]) -> None:
    """Raise if there are groups whose integers would be others here than ONNX Runtime's.

    Args:
        nodes: of the model, as the file has them.
        constants: the names of its constants.

    Raises:
        UnsupportedOperatorError: it names an operator of each.
    """
    reason = "an operator beside it computes with a scale or zero point that is no constant"
    reason += ", or of blocks"
    made = {name: number for number, node in enumerate(nodes) for name in node.output}
    found = _encoded_by_run(nodes, made, constants)
    if found:
        raise UnsupportedOperatorError(
            [(i, nodes[i].op_type, reason, list(nodes[i].output)) for i in found]
        )


def twice_quantized(nodes: list[Any], made: dict[str, int], kept: Iterable[str]) -> list[list[int]]:
    """Find two pairs of QuantizeLinear and DequantizeLinear that follow each other.

    ONNX Runtime merges equal nodes first. So if the last node has equals, the first of them counts.

    Args:
        nodes: of the model.
        made: the number of the node that makes a tensor.
        kept: the names of its outputs, each a use more.
    """
    uses = Counter(kept)
    uses.update(name for node in nodes for name in node.input)
    lasts: dict[tuple[str, ...], list[int]] = {}
    for number, node in enumerate(nodes):
        if node.op_type == _TWO_PAIRS[-1]:
            lasts.setdefault(tuple(node.input), []).append(number)

    def chain(number: int, count: int) -> list[int]:
        """Return the numbers of nodes that lead to one of several that are alike.

        They are the only readers of that before them, as each of the others is.
        """
        found = [number]
        while len(found) < len(_TWO_PAIRS) and (names := nodes[found[0]].input):
            if uses[names[0]] != (count if len(found) == 1 else 1) or names[0] not in made:
                break
            found.insert(0, made[names[0]])
        return found

    chains = [chain(numbers[0], len(numbers)) for numbers in lasts.values()]
    return [found for found in chains if [nodes[i].op_type for i in found] == _TWO_PAIRS]


def _encoded_by_run(nodes: list[Any], made: dict[str, int], constants: Container[str]) -> list[int]:
    """Find what is quantized for an operator, or by one, with an encoding that is no constant.

    ONNX Runtime makes integers of such groups, too, or other operators.
    """
    readers: dict[str, set[str]] = {}
    for node in nodes:
        for name in node.input:
            readers.setdefault(name, set()).add(node.op_type)
    found = []
    for number, node in enumerate(nodes):
        if node.op_type not in ("QuantizeLinear", "DequantizeLinear"):
            continue
        has_blocks = any(each.name == "block_size" and each.i for each in node.attribute)
        if not has_blocks and all(not name or name in constants for name in node.input[1:3]):
            continue
        if node.op_type == "QuantizeLinear":
            others = {nodes[made[name]].op_type for name in node.input[:1] if name in made}
        else:
            others = {kind for name in node.output for kind in readers.get(name, ())}
        if others - {"QuantizeLinear", "DequantizeLinear"}:
            found.append(number)
    return found


_DOMAINS = ("", "ai.onnx", "com.microsoft")
_ROUNDS = 64
"""Each finds what operators stand for whose operands' shapes the one before has found."""


def grouped(proto: Any) -> tuple[Groups, dict[int, str]]:
    """Write quantized operators of a model as groups.

    Returns:
        The new nodes, and why nodes have none, by their numbers; these are among the new ones.
    """
    graph, constants = proto.graph, constants_of(proto)
    stated = [each for each in (*graph.input, *graph.value_info) if _has_shape(each)]
    ranks = {each.name: len(each.type.tensor_type.shape.dim) for each in stated}
    kinds = {each.name: each.type.tensor_type.elem_type for each in stated}
    known = ranks, shapes_of(graph), kinds
    groups = Groups(constants, free_prefix(graph), opset_of(proto), *known)
    missing = {}
    for number, node in enumerate(graph.node):
        rule = RULES.get(node.op_type) if node.domain in _DOMAINS else None
        try:
            if rule is None or _is_computed_so(node, constants):
                groups.nodes.append(_of_standard(node))
            else:
                apply_rule(groups, node, attributes_of(node))
        except UnsupportedError as error:
            missing[number] = str(error)
        except (LookupError, TypeError, ValueError):
            missing[number] = "its operands or attributes are not those of the operator"
        if number in missing:
            groups.nodes[len(groups.sources) :] = [node]
        groups.sources += [number] * (len(groups.nodes) - len(groups.sources))
    return groups, missing


def _has_shape(value: Any) -> bool:
    return bool(value.type.tensor_type.HasField("shape"))


def with_known_types(proto: Any) -> tuple[Any, Groups, dict[int, str], Any]:
    """Find the types of tensors, also behind operators that the standard has not.

    Args:
        proto: from ``with_shapes``, or a model that is known less well.

    Returns:
        The model with the types of its tensors, what its nodes stand for, why some cannot be
        imported, by their numbers, and the model of what they stand for.
    """
    count = -1
    for _ in range(_ROUNDS):
        groups, missing = grouped(proto)
        written = with_nodes(proto, groups.nodes, groups.added)
        with suppress(QnnError):
            written = with_folded_shapes(with_shapes(written, None))
        proto = _with_types(proto, {each.name: each for each in written.graph.value_info})
        if len(proto.graph.value_info) == count:
            break
        count = len(proto.graph.value_info)
    return proto, groups, missing, written


def _with_types(proto: Any, values: Mapping[str, Any]) -> Any:
    """Return a copy of a model that states the types of its own tensors."""
    result = type(proto)()
    result.CopyFrom(proto)
    graph = result.graph
    stated = {each.name for each in (*graph.input, *graph.output)}
    made = {name for node in graph.node for name in node.output} - stated
    found = {each.name: each for each in graph.value_info} | {
        name: value for name, value in values.items() if name in made
    }
    del graph.value_info[:]
    graph.value_info.extend(found.values())
    return result


def with_nodes(proto: Any, nodes: list[Any], added: Mapping[str, Any]) -> Any:
    """Return a copy of the model with other nodes, and with more constants."""
    onnx = onnx_package()
    result = onnx.ModelProto()
    result.CopyFrom(proto)
    del result.graph.node[:]
    result.graph.node.extend(nodes)
    result.graph.initializer.extend(
        onnx.numpy_helper.from_array(array, name) for name, array in added.items()
    )
    return result


_ENCODINGS = {"QLinearConv": (1, 2, 4, 5, 6, 7, 8), "QLinearMatMul": (1, 2, 4, 5, 6, 7)}
"""Where operators that need not know them have scales and zero points, or a bias."""


def _is_computed_so(node: Any, constants: Mapping[str, Array]) -> bool:
    """Tell whether an operator is written as no group: its encodings are not those of one.

    They are no constants, or those of several matrices.
    """
    places = _ENCODINGS.get(node.op_type, ())
    names = [node.input[place] for place in places if place < len(node.input) and node.input[place]]
    return any(name not in constants or constants[name].ndim > 1 for name in names)


_STANDARD = ("DequantizeLinear", "QuantizeLinear")
"""Operators that both domains have alike."""


def with_standard_pairs(proto: Any) -> Any:
    """Return a model whose QuantizeLinear and DequantizeLinear are the standard's.

    So the package knows their types, in inner graphs, too.
    """
    result = onnx_package().ModelProto()
    result.CopyFrom(proto)
    for graph in (result.graph, *inner_graphs(result.graph)):
        for node in graph.node:
            with suppress(ValueError):  # what no rule takes stays
                node.domain = _of_standard(node).domain
    return result


def _of_standard(node: Any) -> Any:
    if node.op_type not in _STANDARD or node.domain != "com.microsoft":
        return node
    if len(node.input) < 2 or len(node.output) != 1:
        raise ValueError("too few tensors")
    copy = type(node)()
    copy.CopyFrom(node)
    copy.domain = ""
    return copy
