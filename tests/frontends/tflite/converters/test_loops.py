"""WHILE: unrolled, and as a loop."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tvm_qnn
from frontends.errors import UnsupportedOperatorError
from frontends.tflite import from_tflite
from frontends.tflite.quantization import Quantization
from frontends.tflite.writer import ModelWriter
from tests.support.arrays import full_range
from tests.support.recurrent import recurrent
from tests.support.standalone import run_standalone
from tests.support.tflite import check_refused
from tvm_qnn.compare import compare

Array = np.ndarray[Any, Any]

needs_cc = pytest.mark.skipif(not shutil.which("cc"), reason="no C compiler cc on the path")

Q = Quantization.per_tensor(0.5, 3)


def loop(turns: int | None, step: int = 1) -> bytes:
    """Return a loop that sums a row of data each iteration; ``turns`` is an input if it is None."""
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


def built(model: bytes, target: str = "host") -> tvm_qnn.Library:
    mod, params = from_tflite(model)
    assert "R.qnn.loop(" in mod.script()
    return tvm_qnn.build(mod, target, params)


def open_inputs(turns: int) -> list[Array]:
    return [rows(), np.array(turns, np.int32)]


@pytest.mark.parametrize("kernels", [False, True])
def test_turns_that_depend_on_the_data_equal_litert(kernels: bool) -> None:
    runs = [open_inputs(turns) for turns in (0, 5, 1, 3)]
    target = "host" if kernels else "llvm"
    assert compare(loop(None), runs[0], target, kernels, then=runs[1:]).differing == ()


@needs_cc
def test_a_loop_runs_in_c(tmp_path: Path) -> None:
    library = built(loop(None))
    runs = [open_inputs(turns) for turns in (0, 5, 2)]
    results = [array for (array,) in run_standalone(library, runs, tmp_path)]
    np.testing.assert_array_equal(results, [library.run(*arrays) for arrays in runs])


def test_a_loop_is_kept_in_a_file(tmp_path: Path) -> None:
    library = built(loop(None))
    library.export(tmp_path / "loop.so")
    loaded = tvm_qnn.load(tmp_path / "loop.so")
    np.testing.assert_array_equal(loaded.run(*open_inputs(4)), library.run(*open_inputs(4)))


def test_many_turns_become_a_loop_and_few_are_unrolled() -> None:
    texts = [from_tflite(loop(turns))[0].script() for turns in (5, 500)]
    assert ["R.qnn.loop(" in text for text in texts] == [False, True]


@pytest.mark.parametrize(("cell", "known"), [("rnn", False), ("gru", True), ("lstm", False)])
def test_unfused_recurrent_networks_equal_litert(cell: str, known: bool) -> None:
    model = recurrent(cell, 9, sliced=False, known=known)
    data = full_range(np.random.default_rng(1), "int8", (1, 9, 5))
    inputs = [data] if known else [data, np.array(9, np.int32)]
    assert compare(model, inputs, "llvm", kernels=False).differing == ()


def test_a_list_of_slices_equals_litert() -> None:
    data = full_range(np.random.default_rng(1), "int8", (1, 3, 5))
    assert compare(recurrent("rnn", 3, sliced=True), [data], "llvm", False).differing == ()


@pytest.mark.parametrize("known", [True, False])
def test_a_list_of_slices_in_a_loop_equals_litert(known: bool) -> None:
    model = recurrent("lstm", 40, sliced=True, known=known)
    data = full_range(np.random.default_rng(1), "int8", (1, 40, 5))
    inputs = [data] if known else [data, np.array(40, np.int32)]
    mod, _ = from_tflite(model)
    assert "R.qnn.loop(" in mod.script()
    assert compare(model, inputs, "llvm", kernels=False).differing == ()


def doubling(turns: int) -> bytes:
    """Return a loop of a known number of iterations, which double their data."""
    writer, kind = ModelWriter(), ((1, 3), "int8", Q)
    x, y = writer.tensor("x", *kind), writer.tensor("y", *kind)
    begin = [
        writer.tensor(name, (), "int32", None, np.array(number, np.int32))
        for name, number in (("begin", 0), ("end", turns))
    ]
    ends = [writer.tensor(name, (), "int32") for name in ("i_end", "n_end")]
    subgraphs = {"cond_subgraph_index": 1, "body_subgraph_index": 2}
    writer.operator("WHILE", [*begin, x], [*ends, y], **subgraphs)
    smaller(writer.subgraph())
    doubled(writer.subgraph())
    return writer.finish([x], [y])


def test_a_loop_of_any_number_of_turns_is_repeated() -> None:
    assert compare(doubling(20_000), few(0)[0][:1], "llvm").differing == ()
    assert "R.qnn.loop(" in from_tflite(doubling(2_000_000_000))[0].script()


def counted(graph: Any, first: str, second: str, *data: Any) -> tuple[list[int], int]:
    """Return two counters and a tensor of a subgraph, and the constant 1."""
    names = [graph.tensor(name, (), "int32") for name in (first, second)]
    one = graph.tensor("one", (), "int32", None, np.array(1, np.int32))
    return [*names, graph.tensor("data", *data)], one


def doubled(graph: Any, step: int = 1) -> None:
    """Make a subgraph the body of a loop that counts and doubles."""
    kind = ((1, 3), "int8", Q)
    (i, n, data), _ = counted(graph, "i", "n", *kind)
    by = graph.tensor("by", (), "int32", None, np.array(step, np.int32))
    following, twice = graph.tensor("following", (), "int32"), graph.tensor("twice", *kind)
    graph.operator("ADD", [i, by], [following], version=1)
    graph.operator("ADD", [data, data], [twice])
    graph.end([i, n, data], [following, n, twice])


def smaller(graph: Any) -> None:
    """Make a subgraph the condition of a loop: whether one counter is below the other."""
    (i, n, data), _ = counted(graph, "i", "n", (1, 3), "int8", Q)
    more = graph.tensor("more", (), "bool")
    graph.operator("LESS", [i, n], [more])
    graph.end([i, n, data], [more])


def nested() -> bytes:
    """Return a loop whose iterations, as many as an input says, double once more each time."""
    writer, kind = ModelWriter(), ((1, 3), "int8", Q)
    x, turns = writer.tensor("x", *kind), writer.tensor("turns", (), "int32")
    begin = writer.tensor("begin", (), "int32", None, np.array(0, np.int32))
    ends = [writer.tensor(name, (), "int32") for name in ("i_end", "n_end")]
    ends.append(writer.tensor("y", *kind))
    loop_of = {"cond_subgraph_index": 1, "body_subgraph_index": 2}
    writer.operator("WHILE", [begin, turns, x], ends, **loop_of)
    smaller(writer.subgraph())
    graph = writer.subgraph()
    (i, n, data), one = counted(graph, "i", "n", *kind)
    zero = graph.tensor("zero", (), "int32", None, np.array(0, np.int32))
    inner = [graph.tensor(name, (), "int32") for name in ("j", "m")]
    following, made = graph.tensor("following", (), "int32"), graph.tensor("made", *kind)
    loop_of = {"cond_subgraph_index": 3, "body_subgraph_index": 4}
    graph.operator("WHILE", [zero, i, data], [*inner, made], **loop_of)
    graph.operator("ADD", [i, one], [following], version=1)
    graph.end([i, n, data], [following, n, made])
    smaller(writer.subgraph())
    doubled(writer.subgraph())
    return writer.finish([x, turns], [ends[2]])


def few(*turns: int) -> list[list[Array]]:
    """Return the inputs of some runs."""
    return [[np.array([[4, 2, 3]], np.int8), np.array(count, np.int32)] for count in turns]


@pytest.mark.parametrize("kernels", [False, True])
def test_a_loop_inside_another_equals_litert(kernels: bool) -> None:
    runs = few(3, 0, 1, 4)
    target = "host" if kernels else "llvm"
    assert compare(nested(), runs[0], target, kernels, then=runs[1:]).differing == ()


@needs_cc
def test_a_loop_inside_another_runs_in_c(tmp_path: Path) -> None:
    library = built(nested())
    runs = few(0, 4, 2)
    results = [array for (array,) in run_standalone(library, runs, tmp_path)]
    np.testing.assert_array_equal(results, [library.run(*arrays) for arrays in runs])


def branching(step: int) -> bytes:
    """Return a branch that loops as often as an input says, and one that does not loop."""
    writer, kind = ModelWriter(), ((1, 3), "int8", Q)
    x, n = writer.tensor("x", *kind), writer.tensor("turns", (), "int32")
    flag, y = writer.tensor("flag", (1,), "bool"), writer.tensor("y", *kind)
    writer.operator("IF", [flag, x, n], [y], then_subgraph_index=1, else_subgraph_index=2)
    graph = writer.subgraph()
    data, n_inner = graph.tensor("data", *kind), graph.tensor("n", (), "int32")
    zero = graph.tensor("zero", (), "int32", None, np.array(0, np.int32))
    inner = [graph.tensor(name, (), "int32") for name in ("j", "m")]
    made = graph.tensor("made", *kind)
    loop_of = {"cond_subgraph_index": 3, "body_subgraph_index": 4}
    graph.operator("WHILE", [zero, n_inner, data], [*inner, made], **loop_of)
    graph.end([data, n_inner], [made])
    graph = writer.subgraph()
    data, n_inner = graph.tensor("data", *kind), graph.tensor("n", (), "int32")
    made = graph.tensor("made", *kind)
    graph.operator("RELU", [data], [made])
    graph.end([data, n_inner], [made])
    smaller(writer.subgraph())
    doubled(writer.subgraph(), step)
    return writer.finish([flag, x, n], [y])


def test_a_loop_inside_a_branch_equals_litert() -> None:
    data = np.array([[4, -2, 3]], np.int8)
    runs = [
        [np.array([flag]), data, np.array(turns, np.int32)]
        for flag, turns in ((True, 3), (False, 3), (True, 0), (False, 0))
    ]
    assert compare(branching(1), runs[0], "llvm", then=runs[1:]).differing == ()


def test_the_loop_of_a_branch_that_is_not_taken_is_not_run() -> None:
    # It has no end.
    arrays = [np.array([False]), np.array([[4, -2, 3]], np.int8), np.array(3, np.int32)]
    assert compare(branching(0), arrays, "llvm").differing == ()


@pytest.mark.parametrize(
    ("code", "message"),
    [("CONCATENATION", "change from iteration to iteration"), ("WHILE", "more than 8 deep")],
)
def test_bodies_that_no_loop_has(code: str, message: str) -> None:
    writer = ModelWriter()
    begin = [writer.tensor("x", (1, 4), "int8", Q), writer.tensor("go", (1,), "bool")]
    ends = [writer.tensor("y", (1, 4), "int8", Q), writer.tensor("went", (1,), "bool")]
    writer.operator("WHILE", begin, ends, cond_subgraph_index=1, body_subgraph_index=2)
    for part in range(3):
        graph = writer.subgraph()
        data, go = graph.tensor("data", (1, 4), "int8", Q), graph.tensor("go", (1,), "bool")
        if part == 0:
            graph.end([data, go], [go])
            continue
        made, gone = graph.tensor("made", (1, 4), "int8", Q), graph.tensor("gone", (1,), "bool")
        if code == "WHILE" and part == 1:
            subgraphs = {"cond_subgraph_index": 1, "body_subgraph_index": 2}
            graph.operator("WHILE", [data, go], [made, gone], **subgraphs)
        else:
            graph.operator("LOGICAL_NOT", [go], [gone])
            graph.operator("CONCATENATION", [data, data], [made], axis=1)
        graph.end([data, go], [made, gone])
    check_refused(writer.finish(begin, [ends[0]]), message, UnsupportedOperatorError)


def test_a_loop_without_an_end() -> None:
    check_refused(loop(1, step=0), "a loop without an end", UnsupportedOperatorError)
