"""Groups of nodes that ONNX Runtime computes otherwise than they look."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable
from typing import Any

from frontends.errors import UnsupportedOperatorError

_TWO_PAIRS = ["QuantizeLinear", "DequantizeLinear"] * 2


def check_groups(nodes: list[Any], kept: Iterable[str], constants: Container[str]) -> None:
    """Raise if there are groups whose integers would be others here than ONNX Runtime's.

    Args:
        nodes: of the model, as the file has them.
        kept: the names of its outputs, each a use more.
        constants: the names of its constants.

    Raises:
        UnsupportedOperatorError: it names an operator of each.
    """
    made = {name: number for number, node in enumerate(nodes) for name in node.output}
    found = dict.fromkeys(
        _quantized_twice(nodes, made, kept),
        "its tensor was quantized before, and ONNX Runtime makes one range of both",
    )
    found |= dict.fromkeys(
        _added_to_convolutions(nodes, made, constants),
        "ONNX Runtime adds a constant to the float result of Conv; make it the bias of Conv",
    )
    if found:
        raise UnsupportedOperatorError(
            [(i, nodes[i].op_type, found[i], list(nodes[i].output)) for i in sorted(found)]
        )


def _quantized_twice(nodes: list[Any], made: dict[str, int], kept: Iterable[str]) -> list[int]:
    """Find the second QuantizeLinear of two pairs that follow each other."""
    uses = Counter(kept)
    uses.update(name for node in nodes for name in node.input)

    def chain(number: int) -> list[int]:
        """Return the numbers of nodes that lead to one, each the only reader of that before it."""
        found = [number]
        while len(found) < len(_TWO_PAIRS) and (names := nodes[found[0]].input):
            if uses[names[0]] != 1 or names[0] not in made:
                break
            found.insert(0, made[names[0]])
        return found

    chains = [chain(number) for number, node in enumerate(nodes) if node.op_type == _TWO_PAIRS[-1]]
    return [found[-2] for found in chains if [nodes[i].op_type for i in found] == _TWO_PAIRS]


def _added_to_convolutions(
    nodes: list[Any], made: dict[str, int], constants: Container[str]
) -> list[int]:
    """Find sums of a Conv's float result and a constant."""

    def kind(name: str) -> str:
        return nodes[made[name]].op_type if name in made else ""

    def is_constant(name: str) -> bool:
        return name in constants or kind(name) == "Constant"

    return [
        number
        for number, node in enumerate(nodes)
        if node.op_type == "Add"
        and any(kind(name) == "Conv" for name in node.input)
        and any(is_constant(name) for name in node.input)
    ]
