"""Inputs whose values decide what is compiled: axes, shapes, scales of images, and the like."""

from typing import Any

from frontends.onnx.read.names import is_of_standard
from frontends.onnx.read.standard import COMPARING, LOGICAL, MOVING, REDUCING

_OF_AXES = ("CenterCropPad", "CumProd", "CumSum", "Expand", "Reshape", "Split", "Squeeze", "TopK")
_WINDOWS = ("BlackmanWindow", "HammingWindow", "HannWindow")

DECIDING: dict[str, tuple[int, ...]] = {
    **dict.fromkeys((*REDUCING, *_OF_AXES, "AffineGrid", "OneHot", "Tile", "Unsqueeze"), (1,)),
    **dict.fromkeys((*_WINDOWS, "ConstantOfShape"), (0,)),
    **dict.fromkeys(("GRU", "LSTM", "RNN"), (1, 2, 3, 7)),
    "Col2Im": (1, 2),
    "DFT": (1, 2),
    "Pad": (1, 2, 3),
    "Range": (0, 1, 2),
    "Resize": (1, 2, 3),
    "STFT": (1, 2, 3),
    "Slice": (1, 2, 3, 4),
}
"""By operator name, the indices of operands that must be constants."""

EXACT = frozenset(
    (
        *(*COMPARING, *LOGICAL, *MOVING, "Add", "Cast", "ConstantOfShape", "Div", "Max", "Min"),
        *("Mod", "Mul", "Neg", "Not", "Range", "ReduceProd", "Sqrt", "Sub", "Where"),
    )
)
"""Operators whose results are exact, independently of the implementation."""

_FOLLOWED = EXACT | {"Abs", "CastLike", "Ceil", "Floor"}
"""Operators between inputs and deciding operands; ``folding`` computes them from constants."""


def deciding_inputs(proto: Any) -> list[str]:
    """Return the names of inputs that must be constants at import, in the order of the inputs.

    Args:
        proto: a model from ``read_proto``.
    """
    graph = proto.graph
    makers = {name: node for node in graph.node for name in node.output}
    left = [
        node.input[index]
        for node in graph.node
        if is_of_standard(node, *DECIDING)
        for index in DECIDING[node.op_type]
        if index < len(node.input)
    ]
    seen: set[str] = set()
    while left:
        name = left.pop()
        if name in seen:
            continue
        seen.add(name)
        if name in makers and is_of_standard(makers[name], *_FOLLOWED):
            left.extend(makers[name].input)
    constants = {tensor.name for tensor in graph.initializer}
    return [each.name for each in graph.input if each.name in seen - constants]
