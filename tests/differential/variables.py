"""A step at which a value of the run before, or a first one, takes a value's place."""

from __future__ import annotations

from frontends.tflite.writer import ModelWriter
from tests.differential.graphs import Graph, Value, step


def handle(writer: ModelWriter, name: str) -> int:
    """Return what names a variable."""
    index = writer.tensor(f"{name}_handle", (1,), "resource")
    writer.operator("VAR_HANDLE", [], [index], shared_name=name)
    return index


@step()
def keep(graph: Graph, value: Value) -> Value | None:
    """Keep the value, and go on with the one that was kept."""
    if 0 in value.shape:
        return None
    name, old = f"v{value.index}_{len(graph.codes)}", graph.result(value, value.shape)
    begin = graph.writer.subgraph()
    graph.writer.operator("CALL_ONCE", [], [], init_subgraph_index=graph.writer.subgraphs)
    first = graph.data(value.dtype, value.shape)
    constant = begin.tensor("first", value.shape, value.dtype, value.encoding, first)
    begin.operator("ASSIGN_VARIABLE", [handle(begin, name), constant], [])
    begin.end([], [])
    known = handle(graph.writer, name)
    graph.operator("READ_VARIABLE", [known], old)
    graph.writer.operator("ASSIGN_VARIABLE", [known, value.index], [])
    graph.codes += ["CALL_ONCE", "VAR_HANDLE", "ASSIGN_VARIABLE"]
    return old
