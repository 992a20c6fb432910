"""Steps that run subgraphs."""

import numpy as np

from tests.differential.graphs import Graph, Value, step
from tests.support.composites import runs
from tests.support.tflite import fixed
from tests.support.tflite_graphs import NUMBER, Subgraph, doubled, smaller, unary

_CODES = ("RELU", "RELU6", "RELU_N1_TO_1")


@step(int16=True)
def repeat(graph: Graph, value: Value) -> Value | None:
    """Double a value some times, or as often as an input says; now and then in two loops."""
    if 0 in value.shape:
        return None
    first = graph.writer.subgraphs + 1
    begin, most = graph.constant(np.int32(0)), np.array(graph.rng.integers(0, 4), np.int32)
    end = graph.constant(most) if graph.chance(0.5) else graph.aside(most)
    left = [graph.tensor([], "int32", None) for _ in range(2)]
    result = graph.result(value, value.shape)
    is_nested = graph.chance(0.3)
    kind = value.shape, value.dtype, value.encoding
    loop = {"cond_subgraph_index": first + 2, "body_subgraph_index": first + 3}
    outer = Subgraph(
        {
            "i n j m following": NUMBER,
            "data twice": kind,
            "zero": fixed(0, "int32"),
            "one": fixed(1, "int32"),
        },
        [
            ("ADD", "i one", "following", {"version": 1}),
            ("WHILE", "zero i data", "j m twice", loop),
        ],
        *("i n data", "following n twice"),
    )
    parts = [smaller(*kind), doubled(*kind)]
    for part in [smaller(*kind), outer, *parts] if is_nested else parts:
        part.add_to(graph.writer)
    subgraphs = {"cond_subgraph_index": first, "body_subgraph_index": first + 1}
    graph.operator("WHILE", [begin, end, value.index], *left, result, **subgraphs)
    return result


@step(int16=True)
def combine(graph: Graph, value: Value) -> Value:
    """Run a subgraph that defines an operator of another name."""
    number = graph.writer.subgraphs + 1
    result = graph.result(value, value.shape)
    kind = value.shape, value.dtype, value.encoding
    Subgraph({"a b c": kind}, [("MAXIMUM", "a b", "c")], "a b", "c").add_to(graph.writer)
    other = graph.data(value.dtype, value.shape)
    operands = [value.index, graph.constant(other, value.encoding)]
    graph.operator("STABLEHLO_COMPOSITE", operands, result, **runs(number))
    return result


@step(int16=True)
def choose(graph: Graph, value: Value) -> Value | None:
    """Run one of two activations."""
    if 0 in value.shape:
        return None
    first = graph.writer.subgraphs + 1
    flag = graph.constant(np.bool_(graph.chance(0.5)))
    if graph.chance(0.5):
        flag = graph.aside(np.array(graph.chance(0.5)))
    result = graph.result(value, value.shape)
    codes = _CODES[:2] if value.dtype == "int16" else _CODES
    for code in graph.rng.choice(codes, 2):
        unary(str(code), value.shape, value.dtype, value.encoding).add_to(graph.writer)
    operands = [flag, value.index]
    branches = {"then_subgraph_index": first, "else_subgraph_index": first + 1}
    graph.operator("IF", operands, result, **branches)
    return result
