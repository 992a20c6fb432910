"""Models without inner graphs: branches and turns are written into the graph around them."""

from __future__ import annotations

from typing import Any

from frontends.onnx.branches import is_if, with_choices, with_closed_branches, with_taken_branches
from frontends.onnx.constants import constants_of
from frontends.onnx.folding import with_folded_shapes
from frontends.onnx.reader import Shapes, with_shapes
from frontends.onnx.subgraphs import is_of_standard
from frontends.onnx.turns import with_turns

CONTROL = ("If", "Loop", "Scan")

_ROUNDS = 32
"""The shapes that a branch gives may decide on the next one."""


def without_subgraphs(proto: Any, shapes: Shapes | None) -> Any:
    """Return the model without If, and without Loop and Scan whose turns are known.

    Args:
        proto: from ``read_proto``.
        shapes: of inputs by name, where they are not the file's.

    Raises:
        ModelFormatError: a branch or body is malformed, or shapes do not fit.
        UnsupportedOperatorError: the data choose between tensors of other shapes.
        QnnError: a shape is not known.
    """
    for _ in range(_ROUNDS):
        if not any(is_of_standard(node, *CONTROL) for node in proto.graph.node):
            break
        if any(map(is_if, proto.graph.node)):
            known = with_folded_shapes(with_shapes(with_closed_branches(proto), shapes))
            if (found := with_taken_branches(proto, constants_of(known))) is not None:
                proto = found
                continue
        inferred = with_shapes(proto, shapes)
        constants = constants_of(with_folded_shapes(inferred))
        found = with_turns(proto, inferred, constants) or with_choices(proto, shapes)
        if found is None:
            break
        proto = found
    return proto
