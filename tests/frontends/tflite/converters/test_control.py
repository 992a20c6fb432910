"""IF, STABLEHLO_CASE and STABLEHLO_COMPOSITE, and subgraphs that are run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from frontends.errors import UnsupportedOperatorError
from frontends.tflite import from_tflite
from frontends.tflite.quantization import Quantization
from frontends.tflite.writer import ModelWriter
from tests.support.composites import runs
from tests.support.tflite import check_refused
from tvm_qnn import Library, build
from tvm_qnn.compare import compare
from tvm_qnn.oracle import LiteRtSession

Array = np.ndarray[Any, Any]

Q = Quantization.per_tensor(0.5, 3)


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


def case(
    number: int | None, branches: Sequence[int] = (1, 2, 3), *, dtype: str = "int32", size: int = 1
) -> bytes:
    """Return a model that chooses one of three subgraphs."""
    writer = ModelWriter()
    x, y = (writer.tensor(name, (1, 4), "int8", Q) for name in "xy")
    data = None if number is None else np.full(size, number, dtype)
    index = writer.tensor("number", (size,), dtype, None, data)
    options: dict[str, Any] = {"branch_subgraph_indices": branches, "version": 1}
    writer.operator("STABLEHLO_CASE", [index, x], [y], **options)
    for code in ("RELU", "RELU6", "RELU_N1_TO_1"):
        graph = writer.subgraph()
        a, b = (graph.tensor(name, (1, 4), "int8", Q) for name in "ab")
        graph.operator(code, [a], [b])
        graph.end([a], [b])
    return writer.finish([x] if number is not None else [x, index], [y])


def _built(model: bytes) -> Library:
    mod, params = from_tflite(model)
    return build(mod, "llvm", params)


@pytest.mark.parametrize("is_known", [False, True])
def test_every_branch_of_a_case_equals_litert(is_known: bool) -> None:
    data = np.array([[-90, 0, 9, 100]], np.int8)
    model = case(None)
    # LiteRT's reference kernels lack it. A number outside is the last branch's.
    session = LiteRtSession(model, xnnpack=False)
    library = _built(model)
    found = set()
    for number in (0, 1, 2, 3, -1, -(2**31)):
        index = np.array([number], np.int32)
        (wanted,) = session.run([data, index])
        if is_known:
            library = _built(case(number))
        given = [data] if is_known else [data, index]
        np.testing.assert_array_equal(library.run(*given), wanted)
        found.add(wanted.tobytes())
    assert len(found) == 3


def test_a_case_of_one_branch() -> None:
    data = np.array([[-90, 0, 9, 100]], np.int8)
    library = _built(case(None, (2,)))
    wanted = _built(case(1)).run(data)
    np.testing.assert_array_equal(library.run(data, np.array([7], np.int32)), wanted)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (case(0, ()), "must have 1 to 256 branches, got 0"),
        (case(None, [1] * 257), "must have 1 to 256 branches, got 257"),
        (case(0, (1, 4)), "runs subgraph 4, there are 3 others"),
        (case(0, (0, 1)), "runs subgraph 0, there are 3 others"),
        (case(0, dtype="int64"), "its number must be one int32, got tensor 2 'number'"),
        (case(None, dtype="int64"), "its number must be one int32"),
        (case(None, size=2), "its number must be one int32"),
        (case(0, size=2), "its number must be one int32"),
    ],
)
def test_cases_that_are_refused(model: bytes, message: str) -> None:
    check_refused(model, message)


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
    check_refused(writer.finish([x], [y]), "more than 8 deep", UnsupportedOperatorError)


def test_a_subgraph_takes_what_it_is_given() -> None:
    writer = ModelWriter()
    flag = writer.tensor("flag", (), "bool", None, np.array(True))
    x = writer.tensor("x", (1, 4), "int8", Q)
    writer.operator("IF", [flag], [x], then_subgraph_index=1, else_subgraph_index=1)
    graph = writer.subgraph()
    a = graph.tensor("a", (1, 4), "int8", Q)
    graph.end([a], [a])
    check_refused(writer.finish([], [x]), "its subgraph takes 1 tensors, gets 0")


def composite(number: int = 1, inner: int = 2) -> bytes:
    """Return a dense layer and a subgraph that runs it, whose weights are arguments."""
    rng, writer = np.random.default_rng(3), ModelWriter()
    x = writer.tensor("x", (2, 70), "int8", Q)
    y, z = (writer.tensor(name, (2, 64), "int8", Q) for name in "yz")
    scale = Quantization.per_tensor(0.01, 0)
    array = rng.integers(-127, 128, (64, 70)).astype(np.int8)
    weights = writer.tensor("weights", array.shape, "int8", scale, array)
    writer.operator("STABLEHLO_COMPOSITE", [x, weights], [y, z], **runs(number))
    graph = writer.subgraph()
    a = graph.tensor("a", (2, 70), "int8", Q)
    b = graph.tensor("b", array.shape, "int8", scale)
    c, d = (graph.tensor(name, (2, 64), "int8", Q) for name in "cd")
    graph.operator("FULLY_CONNECTED", [a, b], [c])
    graph.operator("STABLEHLO_COMPOSITE", [c], [d], **runs(inner))
    graph.end([a, b], [d, c])
    graph = writer.subgraph()
    e, f = (graph.tensor(name, (2, 64), "int8", Q) for name in "ef")
    graph.operator("RELU", [e], [f])
    graph.end([e], [f])
    return writer.finish([x], [y, z])


def test_operators_that_make_up_one_equal_litert() -> None:
    data = np.random.default_rng(5).integers(-128, 128, (2, 70)).astype(np.int8)
    assert compare(composite(), [data], "llvm").differing == ()


@pytest.mark.parametrize(
    ("numbers", "message"),
    [((4,), "runs subgraph 4, there are 2 others"), ((1, 1), "its subgraph takes 2 tensors")],
)
def test_composites_of_wrong_subgraphs(numbers: Any, message: str) -> None:
    check_refused(composite(*numbers), message)


def loop_in_a_branch(code: str) -> bytes:
    writer = ModelWriter()
    x, y = (writer.tensor(name, (4,), "int8", Q) for name in "xy")
    n = writer.tensor("n", (), "int32")
    if code == "IF":
        flag = writer.tensor("flag", (), "bool")
        writer.operator(code, [flag, x, n], [y], then_subgraph_index=1, else_subgraph_index=2)
    else:
        flag = writer.tensor("flag", (), "int32")
        numbers: dict[str, Any] = {"branch_subgraph_indices": (1, 1, 2), "version": 1}
        writer.operator(code, [flag, x, n], [y], **numbers)
    graph = writer.subgraph()
    a, b = (graph.tensor(name, (4,), "int8", Q) for name in "ab")
    m = graph.tensor("m", (), "int32")
    graph.operator("STABLEHLO_COMPOSITE", [a, m], [b], **runs(3))
    graph.end([a, m], [b])
    graph = writer.subgraph()
    a, b = (graph.tensor(name, (4,), "int8", Q) for name in "ab")
    m = graph.tensor("m", (), "int32")
    graph.operator("RELU", [a], [b])
    graph.end([a, m], [b])
    graph = writer.subgraph()  # doubles until n is 0, which -1 never becomes
    a, b = (graph.tensor(name, (4,), "int8", Q) for name in "ab")
    m, end = (graph.tensor(name, (), "int32") for name in ("m", "end"))
    loop = {"cond_subgraph_index": 4, "body_subgraph_index": 5}
    graph.operator("WHILE", [a, m], [b, end], **loop)
    graph.end([a, m], [b])
    graph = writer.subgraph()
    a, m = graph.tensor("a", (4,), "int8", Q), graph.tensor("m", (), "int32")
    more, zero = graph.tensor("more", (), "bool"), np.array(0, np.int32)
    graph.operator("NOT_EQUAL", [m, graph.tensor("zero", (), "int32", None, zero)], [more])
    graph.end([a, m], [more])
    graph = writer.subgraph()
    a, b = (graph.tensor(name, (4,), "int8", Q) for name in "ab")
    m, less = (graph.tensor(name, (), "int32") for name in ("m", "less"))
    one = graph.tensor("one", (), "int32", None, np.array(1, np.int32))
    graph.operator("ADD", [a, a], [b])
    graph.operator("SUB", [m, one], [less], version=1)
    graph.end([a, m], [b, less])
    return writer.finish([x, flag, n], [y])


def test_a_loop_inside_a_composite_runs_in_the_chosen_branch_alone() -> None:
    model = loop_in_a_branch("IF")
    data = np.array([-9, 3, 5, 30], np.int8)
    # The loop of the branch that is not chosen would never end.
    for chosen, turns in ((True, 2), (False, -1)):
        inputs = [data, np.array(chosen), np.array(turns, np.int32)]
        assert compare(model, inputs, "llvm").differing == ()


def test_so_it_does_in_a_case() -> None:
    # LiteRT's kernel reads the memory after the branches' numbers as further ones.
    choice, case = (_built(loop_in_a_branch(code)) for code in ("IF", "STABLEHLO_CASE"))
    data = np.array([-9, 3, 5, 30], np.int8)
    for number, turns in ((0, 2), (1, 1), (2, -1), (-1, -1)):
        count = np.array(turns, np.int32)
        wanted = choice.run(data, np.array(number in (0, 1)), count)
        found = case.run(data, np.array(number, np.int32), count)
        np.testing.assert_array_equal(found, wanted)
