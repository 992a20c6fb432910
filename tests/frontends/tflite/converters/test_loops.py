"""WHILE: unrolled, and as a loop."""

import shutil
from pathlib import Path

import numpy as np
import pytest

import tvm_qnn
from frontends.errors import UnsupportedOperatorError
from frontends.tflite import from_tflite
from frontends.tflite.quantization import Quantization
from tests.support.arrays import full_range
from tests.support.recurrent import recurrent
from tests.support.standalone import run_standalone
from tests.support.tflite import check_refused, fixed
from tests.support.tflite_graphs import FLAG, NUMBER, Subgraph, doubled, model_of, smaller
from tvm_qnn.compare import compare

needs_cc = pytest.mark.skipif(not shutil.which("cc"), reason="no C compiler cc on the path")

Q = Quantization.per_tensor(0.5, 3)


LOOP = {"cond_subgraph_index": 1, "body_subgraph_index": 2}
INNER = {"cond_subgraph_index": 3, "body_subgraph_index": 4}
ROW, DATA = ((1, 3), "int8", Q), ((5, 1, 3), "int8", Q)
ZERO, ONE = fixed(0, "int32"), fixed(1, "int32")


def loop(turns: int | None, step: int = 1) -> bytes:
    """Return a loop that sums a row of data each iteration; ``turns`` is an input if it is None."""
    end = NUMBER if turns is None else fixed(turns, "int32")
    main = Subgraph(
        {
            "x": DATA,
            "zero": fixed([[3, 3, 3]], "int8", Q),
            "begin": ZERO,
            "end": end,
            "y0 y1": NUMBER,
            "y2": DATA,
            "y3": ROW,
        },
        [("WHILE", "begin end x zero", "y0 y1 y2 y3", LOOP)],
        *("x end" if turns is None else "x", "y3"),
    )
    carried = {"i n": NUMBER, "data": DATA, "total": ROW}
    more = Subgraph({**carried, "more": FLAG}, [("LESS", "i n", "more")], "i n data total", "more")
    body = Subgraph(
        {
            **carried,
            "one": fixed(step, "int32"),
            "row new weighed": ROW,
            "following": NUMBER,
            "weight": fixed([[1, -7, 9]], "int8", Q),
        },
        [
            ("GATHER", "data i", "row", {"axis": 0}),
            ("MUL", "row weight", "weighed"),
            ("ADD", "total weighed", "new"),
            ("ADD", "i one", "following", {"version": 1}),
        ],
        *("i n data total", "following n data new"),
    )
    return model_of(main, more, body)


def rows() -> np.ndarray:
    return full_range(np.random.default_rng(0), "int8", (5, 1, 3)) // 8


@pytest.mark.parametrize("turns", [0, 1, 5])
def test_a_loop_of_so_many_turns_equals_litert(turns: int) -> None:
    assert compare(loop(turns), [rows()], "llvm").differing == ()


def test_the_turns_of_a_loop_share_its_constants_if_they_are_few() -> None:
    _, params = from_tflite(loop(5))
    assert [name for name in params if name.startswith("weight")] == ["weight"]
    texts = [from_tflite(loop(turns))[0].script() for turns in (5, 500)]
    assert ["R.qnn.loop(" in text for text in texts] == [False, True]


def built(model: bytes, target: str = "host") -> tvm_qnn.Library:
    mod, params = from_tflite(model)
    assert "R.qnn.loop(" in mod.script()
    return tvm_qnn.build(mod, target, params)


def open_inputs(turns: int) -> list[np.ndarray]:
    return [rows(), np.array(turns, np.int32)]


@pytest.mark.parametrize("kernels", [False, True])
def test_turns_that_depend_on_the_data_equal_litert(kernels: bool) -> None:
    runs = [open_inputs(turns) for turns in (0, 5, 1, 3)]
    target = "host" if kernels else "llvm"
    assert compare(loop(None), runs[0], target, kernels, then=runs[1:]).differing == ()


@needs_cc
def test_loops_run_in_c(tmp_path: Path) -> None:
    library = built(loop(None))
    runs = [open_inputs(turns) for turns in (0, 5, 2)]
    results = [array for (array,) in run_standalone(library, runs, tmp_path)]
    np.testing.assert_array_equal(results, [library.run(*arrays) for arrays in runs])
    library = built(nested())
    runs = few(0, 4, 2)
    results = [array for (array,) in run_standalone(library, runs, tmp_path)]
    np.testing.assert_array_equal(results, [library.run(*arrays) for arrays in runs])


def test_a_loop_is_kept_in_a_file(tmp_path: Path) -> None:
    library = built(loop(None))
    library.export(tmp_path / "loop.so")
    loaded = tvm_qnn.load(tmp_path / "loop.so")
    np.testing.assert_array_equal(loaded.run(*open_inputs(4)), library.run(*open_inputs(4)))


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
    tensors = {"x y": ROW, "begin": ZERO, "end": fixed(turns, "int32"), "i_end n_end": NUMBER}
    nodes = [("WHILE", "begin end x", "i_end n_end y", LOOP)]
    return model_of(Subgraph(tensors, nodes, "x", "y"), smaller(*ROW), doubled(*ROW))


def test_loops_of_any_number_of_turns_and_without_an_end() -> None:
    assert compare(doubling(20_000), few(0)[0][:1], "llvm").differing == ()
    assert "R.qnn.loop(" in from_tflite(doubling(2_000_000_000))[0].script()
    check_refused(loop(1, step=0), "a loop without an end", UnsupportedOperatorError)


def nested() -> bytes:
    """Return a loop whose iterations, as many as an input says, double once more each time."""
    tensors = {"x y": ROW, "turns": NUMBER, "begin": ZERO, "i_end n_end": NUMBER}
    nodes = [("WHILE", "begin turns x", "i_end n_end y", LOOP)]
    body = Subgraph(
        {"i n j m following": NUMBER, "data made": ROW, "zero": ZERO, "one": ONE},
        [
            ("WHILE", "zero i data", "j m made", INNER),
            ("ADD", "i one", "following", {"version": 1}),
        ],
        *("i n data", "following n made"),
    )
    main, condition = Subgraph(tensors, nodes, "x turns", "y"), smaller(*ROW)
    return model_of(main, condition, body, condition, doubled(*ROW))


def few(*turns: int) -> list[list[np.ndarray]]:
    """Return the inputs of some runs."""
    return [[np.array([[4, 2, 3]], np.int8), np.array(count, np.int32)] for count in turns]


@pytest.mark.parametrize("kernels", [False, True])
def test_a_loop_inside_another_equals_litert(kernels: bool) -> None:
    runs = few(3, 0, 1, 4)
    target = "host" if kernels else "llvm"
    assert compare(nested(), runs[0], target, kernels, then=runs[1:]).differing == ()


def branching(step: int) -> bytes:
    """Return a branch that loops as often as an input says, and one that does not loop."""
    branches = {"then_subgraph_index": 1, "else_subgraph_index": 2}
    tensors = {"x y": ROW, "turns": NUMBER, "flag": ((1,), "bool")}
    branch = {"data made": ROW, "n j m": NUMBER, "zero": ZERO}
    return model_of(
        Subgraph(tensors, [("IF", "flag x turns", "y", branches)], "flag x turns", "y"),
        Subgraph(branch, [("WHILE", "zero n data", "j m made", INNER)], "data n", "made"),
        Subgraph(branch, [("RELU", "data", "made")], "data n", "made"),
        smaller(*ROW),
        doubled(*ROW, step=step),
    )


def test_loops_inside_branches_are_run_where_they_are_taken() -> None:
    data = np.array([[4, -2, 3]], np.int8)
    runs = [
        [np.array([flag]), data, np.array(turns, np.int32)]
        for flag, turns in ((True, 3), (False, 3), (True, 0), (False, 0))
    ]
    assert compare(branching(1), runs[0], "llvm", then=runs[1:]).differing == ()
    # It has no end.
    arrays = [np.array([False]), np.array([[4, -2, 3]], np.int8), np.array(3, np.int32)]
    assert compare(branching(0), arrays, "llvm").differing == ()


@pytest.mark.parametrize(
    ("code", "message"),
    [("CONCATENATION", "change from iteration to iteration"), ("WHILE", "more than 8 deep")],
)
def test_bodies_that_no_loop_has(code: str, message: str) -> None:
    carried = {"data made": ((1, 4), "int8", Q), "go gone": ((1,), "bool")}
    body = [("LOGICAL_NOT", "go", "gone"), ("CONCATENATION", "data data", "made", {"axis": 1})]
    again = [("WHILE", "data go", "made gone", LOOP)]
    ends = "data go", "made gone"
    model = model_of(
        Subgraph(carried, again, "data go", "made"),
        Subgraph(carried, [], "data go", "go"),
        Subgraph(carried, again if code == "WHILE" else body, *ends),
        Subgraph(carried, body, *ends),
    )
    check_refused(model, message, UnsupportedOperatorError)
