"""Groups of nodes whose integers would be others here than ONNX Runtime's."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable
from typing import Any

from frontends.errors import UnsupportedOperatorError

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

    Where the last is several that are alike, it is the first of them: ONNX Runtime makes one of
    them before.

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
