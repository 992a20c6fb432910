"""WHILE and IF."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from frontends.errors import UnsupportedOperatorError
from frontends.tflite import from_tflite
from frontends.tflite.quantization import Quantization
from frontends.tflite.writer import ModelWriter
from qnn_ops import QnnError
from tests.support.arrays import full_range
from tvm_qnn.compare import compare

Array = np.ndarray[Any, Any]

Q = Quantization.per_tensor(0.5, 3)


def loop(turns: int | None, step: int = 1) -> bytes:
    """Return a loop: of each turn's row of the data, a sum; without turns they are an input."""
    writer = ModelWriter()
    x = writer.tensor("x", (5, 1, 3), "int8", Q)
    sums = writer.tensor("zero", (1, 3), "int8", Q, np.full((1, 3), 3, np.int8))
    begin = writer.tensor("begin", (), "int32", None, np.array(0, np.int32))
    end = writer.tensor(
        "end", (), "int32", None, None if turns is None else np.array(turns, np.int32)
    )
    results = [
        writer.tensor(f"y{i}", shape, dtype, encoding)
        for i, (shape, dtype, encoding) in enumerate(
            (((), "int32", None), ((), "int32", None), ((5, 1, 3), "int8", Q), ((1, 3), "int8", Q))
        )
    ]
    writer.operator(
        "WHILE", [begin, end, x, sums], results, cond_subgraph_index=1, body_subgraph_index=2
    )
    for is_body in (False, True):
        graph = writer.subgraph()
        i, n = (graph.tensor(name, (), "int32") for name in ("i", "n"))
        data, total = (
            graph.tensor("data", (5, 1, 3), "int8", Q),
            graph.tensor("total", (1, 3), "int8", Q),
        )
        if not is_body:
            more = graph.tensor("more", (), "bool")
            graph.operator("LESS", [i, n], [more])
            graph.end([i, n, data, total], [more])
            continue
        one = graph.tensor("one", (), "int32", None, np.array(step, np.int32))
        row, new = (graph.tensor(name, (1, 3), "int8", Q) for name in ("row", "new"))
        following = graph.tensor("following", (), "int32")
        graph.operator("GATHER", [data, i], [row], axis=0)
        weight = graph.tensor("weight", (1, 3), "int8", Q, np.array([[1, -7, 9]], np.int8))
        weighed = graph.tensor("weighed", (1, 3), "int8", Q)
        graph.operator("MUL", [row, weight], [weighed])
        graph.operator("ADD", [total, weighed], [new])
        graph.operator("ADD", [i, one], [following], version=1)
        graph.end([i, n, data, total], [following, n, data, new])
    return writer.finish([x] if turns is not None else [x, end], results[3:])


def rows() -> Array:
    return full_range(np.random.default_rng(0), "int8", (5, 1, 3)) // 8


@pytest.mark.parametrize("turns", [0, 1, 5])
def test_a_loop_of_so_many_turns_equals_litert(turns: int) -> None:
    assert compare(loop(turns), [rows()], "llvm").differing == ()


def test_the_turns_of_a_loop_share_its_constants() -> None:
    _, params = from_tflite(loop(5))
    assert [name for name in params if name.startswith("weight")] == ["weight"]


def test_a_number_of_turns_that_is_not_known() -> None:
    with pytest.raises(UnsupportedOperatorError, match="number of turns depends on the data"):
        from_tflite(loop(None))


def test_a_loop_without_an_end() -> None:
    with pytest.raises(UnsupportedOperatorError, match="loops of more than 10000 operators"):
        from_tflite(loop(1, step=0))


def choice(known: bool | None) -> bytes:
    writer = ModelWriter()
    x = writer.tensor("x", (1, 4), "int8", Q)
    data = None if known is None else np.array(known)
    flag = writer.tensor("flag", (), "bool", None, data)
    y = writer.tensor("y", (1, 4), "int8", Q)
    writer.operator("IF", [flag, x], [y], then_subgraph_index=1, else_subgraph_index=2)
    for code in ("RELU", "RELU6"):
        graph = writer.subgraph()
        a, b = (graph.tensor(name, (1, 4), "int8", Q) for name in "ab")
        graph.operator(code, [a], [b])
        graph.end([a], [b])
    return writer.finish([x] if known is not None else [x, flag], [y])


@pytest.mark.parametrize("is_known", [False, True])
@pytest.mark.parametrize("flag", [False, True])
def test_either_branch_equals_litert(flag: bool, is_known: bool) -> None:
    data = np.array([[-90, 0, 9, 100]], np.int8)
    model = choice(flag if is_known else None)
    inputs = [data] if is_known else [data, np.array(flag)]
    assert compare(model, inputs, "llvm").differing == ()


def test_subgraphs_that_run_themselves() -> None:
    writer = ModelWriter()
    flag = writer.tensor("flag", (), "bool", None, np.array(True))
    x, y = (writer.tensor(name, (1, 4), "int8", Q) for name in "xy")
    writer.operator("IF", [flag, x], [y], then_subgraph_index=1, else_subgraph_index=1)
    graph = writer.subgraph()
    again = graph.tensor("flag", (), "bool", None, np.array(True))
    a, b = (graph.tensor(name, (1, 4), "int8", Q) for name in "ab")
    graph.operator("IF", [again, a], [b], then_subgraph_index=1, else_subgraph_index=1)
    graph.end([a], [b])
    with pytest.raises(UnsupportedOperatorError, match="more than 8 deep"):
        from_tflite(writer.finish([x], [y]))


def test_a_subgraph_takes_what_it_is_given() -> None:
    writer = ModelWriter()
    flag = writer.tensor("flag", (), "bool", None, np.array(True))
    x = writer.tensor("x", (1, 4), "int8", Q)
    writer.operator("IF", [flag], [x], then_subgraph_index=1, else_subgraph_index=1)
    graph = writer.subgraph()
    a = graph.tensor("a", (1, 4), "int8", Q)
    graph.end([a], [a])
    with pytest.raises(QnnError, match="its subgraph takes 1 tensors, gets 0"):
        from_tflite(writer.finish([], [x]))
