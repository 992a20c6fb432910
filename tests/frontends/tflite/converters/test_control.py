"""IF, STABLEHLO_CASE and STABLEHLO_COMPOSITE, and subgraphs that are run."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from frontends.errors import UnsupportedOperatorError
from frontends.tflite import from_tflite
from frontends.tflite.quantization import Quantization
from tests.support.composites import runs
from tests.support.errors import failing
from tests.support.tflite import check_refused, fixed, library_of
from tests.support.tflite_graphs import FLAG, NUMBER, Subgraph, model_of, unary
from tvm_qnn import Library
from tvm_qnn.compare import compare
from tvm_qnn.oracle import LiteRtSession

Q = Quantization.per_tensor(0.5, 3)


ROW = ((1, 4), "int8", Q)
CODES = ("RELU", "RELU6", "RELU_N1_TO_1")
BRANCHES = {"then_subgraph_index": 1, "else_subgraph_index": 2}
ITSELF = {"then_subgraph_index": 1, "else_subgraph_index": 1}


def choice(known: bool | None) -> bytes:
    flag = FLAG if known is None else fixed(known, "bool")
    nodes = [("IF", "flag x", "y", BRANCHES)]
    takes = "x flag" if known is None else "x"
    main = Subgraph({"x": ROW, "flag": flag, "y": ROW}, nodes, takes, "y")
    return model_of(main, *(unary(code, *ROW) for code in CODES[:2]))


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
    index = ((size,), dtype) if number is None else fixed([number] * size, dtype)
    options: dict[str, Any] = {"branch_subgraph_indices": branches, "version": 1}
    nodes = [("STABLEHLO_CASE", "number x", "y", options)]
    takes = "x number" if number is None else "x"
    main = Subgraph({"x y": ROW, "number": index}, nodes, takes, "y")
    return model_of(main, *(unary(code, *ROW) for code in CODES))


def _built(model: bytes) -> Library:
    return library_of(model)


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


test_cases_that_are_refused = failing(
    from_tflite,
    (case(0, ()), "must have 1 to 256 branches, got 0"),
    (case(None, [1] * 257), "must have 1 to 256 branches, got 257"),
    (case(0, (1, 4)), "runs subgraph 4, there are 3 others"),
    (case(0, (0, 1)), "runs subgraph 0, there are 3 others"),
    (case(0, dtype="int64"), "its number must be one int32, got tensor 2 'number'"),
    (case(None, dtype="int64"), "must be one int32"),
    (case(None, size=2), "must be one int32"),
    (case(0, size=2), "its number must be one int32"),
)


def test_subgraphs_that_run_themselves_or_take_too_little() -> None:
    itself = Subgraph(
        {"flag": fixed(True, "bool"), "x y": ROW}, [("IF", "flag x", "y", ITSELF)], "x", "y"
    )
    check_refused(model_of(itself, itself), "more than 8 deep", UnsupportedOperatorError)
    main = Subgraph({"flag": fixed(True, "bool"), "x": ROW}, [("IF", "flag", "x", ITSELF)], "", "x")
    model = model_of(main, Subgraph({"a": ROW}, [], "a", "a"))
    check_refused(model, "its subgraph takes 1 tensors, gets 0")


def composite(number: int = 1, inner: int = 2) -> bytes:
    """Return a dense layer and a subgraph that runs it, whose weights are arguments."""
    rng = np.random.default_rng(3)
    array = rng.integers(-127, 128, (64, 70)).astype(np.int8)
    weights = fixed(array, "int8", Quantization.per_tensor(0.01, 0))
    data, result = ((2, 70), "int8", Q), ((2, 64), "int8", Q)
    layer = [("FULLY_CONNECTED", "a b", "c"), ("STABLEHLO_COMPOSITE", "c", "d", runs(inner))]
    return model_of(
        Subgraph(
            {"x": data, "y z": result, "weights": weights},
            [("STABLEHLO_COMPOSITE", "x weights", "y z", runs(number))],
            *("x", "y z"),
        ),
        Subgraph({"a": data, "b": weights.kind, "c d": result}, layer, "a b", "d c"),
        unary("RELU", *result),
    )


def test_operators_that_make_up_one_equal_litert() -> None:
    data = np.random.default_rng(5).integers(-128, 128, (2, 70)).astype(np.int8)
    assert compare(composite(), [data], "llvm").differing == ()


test_composites_of_wrong_subgraphs = failing(
    lambda numbers: from_tflite(composite(*numbers)),
    ((4,), "runs subgraph 4, there are 2 others"),
    ((1, 1), "its subgraph takes 2 tensors"),
)


def loop_in_a_branch(code: str) -> bytes:
    row = ((4,), "int8", Q)
    numbers = {"branch_subgraph_indices": (1, 1, 2), "version": 1}
    kind, options = (FLAG, BRANCHES) if code == "IF" else (NUMBER, numbers)
    loop = {"cond_subgraph_index": 4, "body_subgraph_index": 5}
    branch: dict[str, Any] = {"a b": row, "m": NUMBER}
    return model_of(
        Subgraph(
            {"x y": row, "n": NUMBER, "flag": kind},
            [(code, "flag x n", "y", options)],
            *("x flag n", "y"),
        ),
        Subgraph(branch, [("STABLEHLO_COMPOSITE", "a m", "b", runs(3))], "a m", "b"),
        Subgraph(branch, [("RELU", "a", "b")], "a m", "b"),
        # It doubles until n is 0, which -1 never becomes.
        Subgraph({**branch, "end": NUMBER}, [("WHILE", "a m", "b end", loop)], "a m", "b"),
        Subgraph(
            {"a": row, "m": NUMBER, "more": FLAG, "zero": fixed(0, "int32")},
            [("NOT_EQUAL", "m zero", "more")],
            *("a m", "more"),
        ),
        Subgraph(
            {**branch, "less": NUMBER, "one": fixed(1, "int32")},
            [("ADD", "a a", "b"), ("SUB", "m one", "less", {"version": 1})],
            *("a m", "b less"),
        ),
    )


def test_a_loop_inside_a_composite_or_a_case_runs_in_the_chosen_branch_alone() -> None:
    model = loop_in_a_branch("IF")
    data = np.array([-9, 3, 5, 30], np.int8)
    # The loop of the branch that is not chosen would never end.
    for chosen, turns in ((True, 2), (False, -1)):
        inputs = [data, np.array(chosen), np.array(turns, np.int32)]
        assert compare(model, inputs, "llvm").differing == ()
    # LiteRT's kernel reads the memory after the branches' numbers as further ones.
    choice, case = (_built(loop_in_a_branch(code)) for code in ("IF", "STABLEHLO_CASE"))
    data = np.array([-9, 3, 5, 30], np.int8)
    for number, turns in ((0, 2), (1, 1), (2, -1), (-1, -1)):
        count = np.array(turns, np.int32)
        wanted = choice.run(data, np.array(number in (0, 1)), count)
        found = case.run(data, np.array(number, np.int32), count)
        np.testing.assert_array_equal(found, wanted)
