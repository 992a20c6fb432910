"""Steps that run subgraphs."""

from __future__ import annotations

import numpy as np

from tests.differential.graphs import Graph, Value, step
from tests.support.composites import runs

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
    for place, is_body in enumerate((False, True) * (2 if is_nested else 1)):
        inner = graph.writer.subgraph()
        i, n = (inner.tensor(name, (), "int32") for name in "in")
        data = inner.tensor("data", value.shape, value.dtype, value.encoding)
        if not is_body:
            more = inner.tensor("more", (), "bool")
            inner.operator("LESS", [i, n], [more])
            inner.end([i, n, data], [more])
            continue
        one = inner.tensor("one", (), "int32", None, np.array(1, np.int32))
        following = inner.tensor("following", (), "int32")
        twice = inner.tensor("twice", value.shape, value.dtype, value.encoding)
        inner.operator("ADD", [i, one], [following], version=1)
        if is_nested and place == 1:
            zero = inner.tensor("zero", (), "int32", None, np.array(0, np.int32))
            ends = [inner.tensor(name, (), "int32") for name in ("j", "m")]
            loop = {"cond_subgraph_index": first + 2, "body_subgraph_index": first + 3}
            inner.operator("WHILE", [zero, i, data], [*ends, twice], **loop)
        else:
            inner.operator("ADD", [data, data], [twice])
        inner.end([i, n, data], [following, n, twice])
    subgraphs = {"cond_subgraph_index": first, "body_subgraph_index": first + 1}
    graph.operator("WHILE", [begin, end, value.index], *left, result, **subgraphs)
    return result


@step(int16=True)
def combine(graph: Graph, value: Value) -> Value:
    """Run a subgraph that defines an operator of another name."""
    number = graph.writer.subgraphs + 1
    result = graph.result(value, value.shape)
    inner = graph.writer.subgraph()
    a, b, c = (inner.tensor(name, value.shape, value.dtype, value.encoding) for name in "abc")
    inner.operator("MAXIMUM", [a, b], [c])
    inner.end([a, b], [c])
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
        inner = graph.writer.subgraph()
        a, b = (inner.tensor(name, value.shape, value.dtype, value.encoding) for name in "ab")
        inner.operator(str(code), [a], [b])
        inner.end([a], [b])
    operands = [flag, value.index]
    branches = {"then_subgraph_index": first, "else_subgraph_index": first + 1}
    graph.operator("IF", operands, result, **branches)
    return result
