"""Small models, of which an interpreter's calls are tried."""

from collections.abc import Sequence

import numpy as np

from frontends.tflite.model import Entry
from frontends.tflite.quantization import Quantization
from frontends.tflite.writer import ModelWriter

Q = Quantization.per_tensor(0.5, 3)
RESULT = Quantization.per_tensor(1 / 256, 0)
FIRST = 10.0
"""The value with which the counter begins."""


def chain() -> bytes:
    """Return a model of two operators on bytes: tensors x 0, h 1, y 2."""
    writer = ModelWriter()
    x, h = (writer.tensor(name, (1, 4), "uint8", Q) for name in "xh")
    y = writer.tensor("y", (1, 4), "uint8", RESULT)
    writer.operator("RELU", [x], [h])
    writer.operator("LOGISTIC", [h], [y])
    return writer.finish([x], [y])


def addition() -> bytes:
    """Return a model that adds a constant: tensors x 0, y 1, c 2."""
    writer = ModelWriter()
    x, y = (writer.tensor(name, (1, 4), "float32") for name in "xy")
    c = writer.tensor("c", (1, 4), "float32", None, np.ones((1, 4), np.float32))
    writer.operator("ADD", [x, c], [y], fused_activation_function="NONE")
    return writer.finish([x], [y])


def two_inputs() -> bytes:
    """Return a model whose outputs are a sum, twice, and an input; its names are not in order."""
    writer = ModelWriter()
    x, z, y = (writer.tensor(name, (1, 4), "float32") for name in "xzy")
    writer.operator("ADD", [x, z], [y], fused_activation_function="NONE")
    taken, given = (("q", x), ("b", z)), (("o2", y), ("o1", x))
    entries = [Entry("second", 0, taken, given), Entry("first", 0, taken, given[:1])]
    return writer.finish([x, z], [y, x, y], entries=entries)


def scaling() -> bytes:
    """Return a model that multiplies four numbers by a single one."""
    writer = ModelWriter()
    x = writer.tensor("x", (4,), "float32")
    factor = writer.tensor("factor", (), "float32")
    y = writer.tensor("y", (4,), "float32")
    writer.operator("MUL", [x, factor], [y], fused_activation_function="NONE")
    ends = (("x", x), ("factor", factor)), (("y", y),)
    return writer.finish([x, factor], [y], entries=[Entry("scale", 0, *ends)])


def filters() -> bytes:
    """Return an SVDF, which keeps a variable tensor: tensors x 0, state 3, y 4."""
    writer = ModelWriter()
    x = writer.tensor("x", (1, 4), "float32")
    weights = [
        writer.tensor(name, shape, "float32", None, np.ones(shape, np.float32))
        for name, shape in (("features", (4, 4)), ("times", (4, 3)))
    ]
    state = writer.tensor("state", (1, 12), "float32", is_variable=True)
    y = writer.tensor("y", (1, 4), "float32")
    operands = [x, *weights, -1, state]
    writer.operator("SVDF", operands, [y], rank=1, fused_activation_function="NONE")
    return writer.finish([x], [y], entries=[Entry("only", 0, (("x", x),), (("y", y),))])


def counter(firsts: Sequence[float] = (FIRST, FIRST), shapes: Sequence[int] = (4, 4)) -> bytes:
    """Return a model of two signatures, "add" and "subtract", that change one variable.

    Args:
        firsts: the value that the variable has at first, by signature.
        shapes: its size, by signature.
    """
    writer = ModelWriter()
    names = ("add", "subtract")
    begins = [writer.subgraph() for _ in names]
    graphs = (writer, writer.subgraph())
    for graph, first, size in zip(begins, firsts, shapes, strict=True):
        value = np.full((1, size), first, np.float32)
        constant = graph.tensor("first", value.shape, "float32", None, value)
        graph.operator("ASSIGN_VARIABLE", [_handle(graph), constant], [])
        graph.end([], [])
    same = firsts[0] == firsts[1] and shapes[0] == shapes[1]
    entries = []
    for name, graph, size in zip(names, graphs, shapes, strict=True):
        number = 1 if same or graph is writer else 2
        graph.operator("CALL_ONCE", [], [], init_subgraph_index=number)
        x, old, y = (graph.tensor(each, (1, size), "float32") for each in ("x", "old", "y"))
        handle = _handle(graph)
        graph.operator("READ_VARIABLE", [handle], [old])
        code = {"add": "ADD", "subtract": "SUB"}[name]
        graph.operator(code, [old, x], [y], fused_activation_function="NONE")
        graph.operator("ASSIGN_VARIABLE", [handle, y], [])
        graph.end([x], [y])
        entries.append(Entry(name, 0 if graph is writer else 3, (("x", x),), (("y", y),)))
    ends = entries[0].inputs[0][1], entries[0].outputs[0][1]
    return writer.finish([ends[0]], [ends[1]], entries=entries)


def _handle(graph: ModelWriter) -> int:
    index = graph.tensor("handle", (), "resource")
    graph.operator("VAR_HANDLE", [], [index], shared_name="count")
    return index
