"""Limits on the size of tensors, before anything is computed: see ``frontends.bounds``."""

from math import prod

from frontends.bounds import Allowance, bytes_of, check_grown
from frontends.errors import UnsupportedError
from frontends.onnx.graph.folding import fold
from frontends.onnx.graph.graph import Graph
from frontends.onnx.graph.shapes import NO_DATA, infer
from frontends.onnx.normalize.control import closed_branches
from frontends.onnx.read.names import graphs_of, refuse

_FOLLOWED = frozenset(
    (
        *("Add", "Cast", "Concat", "Gather", "Identity", "Mul", "Reshape", "Slice", "Split"),
        *("Squeeze", "Sub", "Unsqueeze"),
    )
)
"""Operators whose values the package's shape inference follows."""

_ROUNDS = 4
_MOST_FOLLOWED = 1 << 21
"""The most numbers; shape inference needs about seventy bytes for each."""


def check_bounds(graph: Graph) -> None:
    """Check the sizes of a model's tensors; let shape inference follow values only if they are few.

    The number of bytes of the file's constants is stored in the graph.

    Raises:
        UnsupportedOperatorError: tensors are too large; the error names the operators.
        QnnError: a shape is not known.
    """
    held = graph.constants
    graph.held = sum(bytes_of(held.shape(name), held.dtype(name)) for name in held)
    trial = closed_branches(graph)
    trial.head.metadata_props.add().key = NO_DATA
    infer(trial)
    fold(trial, rounds=_ROUNDS)
    check_growth(trial)
    sizes = [
        prod(known)
        for node in trial.node
        if node.op_type in _FOLLOWED
        for name in (*node.input, *node.output)
        if len(known := trial.known_shape(name) or ()) == 1
    ]
    if sum(sizes) > _MOST_FOLLOWED:
        graph.head.metadata_props.add().key = NO_DATA


def check_growth(graph: Graph) -> None:
    """Check the results of a model with inferred shapes: constants, and tensors of a run.

    Raises:
        UnsupportedOperatorError: it names the nodes whose results are too large.
    """

    def dtype(name: str) -> str:
        return graph.dtype(name) or "float32"

    given = [value.name for value in graph.input]
    total = graph.held + sum(bytes_of(graph.shapes.get(name, ()), dtype(name)) for name in given)
    constants, allowance = {*graph.constants}, Allowance(graph.held)
    found: dict[int, str] = {}
    for number, node in enumerate(graph.node):
        is_constant = constants.issuperset(filter(None, node.input)) and not [*graphs_of(node)]
        constants |= {name for name in node.output if name and is_constant}
        try:
            for name in filter(graph.shapes.__contains__, node.output):
                if is_constant:
                    allowance.make(graph.shapes[name], dtype(name))
                else:
                    check_grown(graph.shapes[name], dtype(name), total)
        except UnsupportedError as error:
            found[number] = str(error)
    refuse(graph.node, found)
