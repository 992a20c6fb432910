"""Variables, and the first values that CALL_ONCE gives them."""

from typing import Any

import numpy as np
import pytest

import tvm_qnn
from frontends.errors import ModelFormatError, UnsupportedOperatorError
from frontends.tflite import from_tflite
from frontends.tflite.quantization import Quantization
from qnn_ops.dialect.signature import signature_of
from tests.support.arrays import full_range
from tests.support.errors import failing
from tests.support.tflite import check_refused, fixed, one, refused, state
from tests.support.tflite_graphs import Subgraph, model_of
from tvm_qnn.compare import compare

Q = Quantization.per_tensor(0.5, 3)
FIRST = np.arange(8, dtype=np.int8).reshape(1, 4, 2)


HANDLE: dict[str, Any] = {"handle": ((1,), "resource")}
ROW = ((1, 4), "int8", Q)


def handle(name: str = "ring") -> tuple[Any, ...]:
    return ("VAR_HANDLE", "", "handle", {"shared_name": name})


def call_once(number: int = 1) -> tuple[Any, ...]:
    return ("CALL_ONCE", "", "", {"init_subgraph_index": number})


def ring(first: np.ndarray | None = FIRST, name: str = "ring") -> bytes:
    """Return a model that keeps its last four inputs, and gives them all."""
    kept = ((1, 4, 2), "int8", Q)
    main = Subgraph(
        {
            **HANDLE,
            "x": ((1, 1, 2), "int8", Q),
            "old new y": kept,
            "all": ((1, 5, 2), "int8", Q),
            "begin": fixed((0, 1, 0), "int32"),
            "size": fixed((1, 4, 2), "int32"),
        },
        [
            *([] if first is None else [call_once()]),
            handle(),
            ("READ_VARIABLE", "handle", "old"),
            ("CONCATENATION", "old x", "all", {"axis": 1}),
            ("SLICE", "all begin size", "new"),
            ("ASSIGN_VARIABLE", "handle new", ""),
            ("RELU", "new", "y"),
        ],
        *("x", "y"),
    )
    if first is None:
        return model_of(main)
    nodes = [handle(name), ("ASSIGN_VARIABLE", "handle first", "")]
    begin = Subgraph({**HANDLE, "first": fixed(first, first.dtype.name, Q)}, nodes, "", "")
    return model_of(main, begin)


def inputs(count: int) -> list[list[np.ndarray]]:
    rng = np.random.default_rng(4)
    return [[full_range(rng, "int8", (1, 1, 2))] for _ in range(count)]


def test_every_tensor_of_several_runs_equals_litert() -> None:
    first, *then = inputs(6)
    comparison = compare(ring(), first, "llvm", then=then)
    assert comparison.differing == ()
    assert (comparison.runs, len(comparison.tensors)) == (6, 4)


def test_the_first_value_is_that_which_call_once_assigns() -> None:
    mod, _ = from_tflite(ring())
    (state,) = signature_of(mod).states
    assert (state.name, state.shape, state.dtype, state.scale) == ("ring", (1, 4, 2), "int8", 0.5)
    np.testing.assert_array_equal(state.array(), FIRST)
    assert [info.name for info in signature_of(mod).inputs] == ["x"]
    assert mod["main"].attrs["num_input"] == 2
    mod, params = from_tflite(ring(), outputs=["old"])
    library = tvm_qnn.build(mod, "llvm", params)
    (first,), (second,) = inputs(2)
    np.testing.assert_array_equal(library.run(first), FIRST)
    np.testing.assert_array_equal(library.run(second)[:, 3], first[:, 0])


test_a_first_value_that_does_not_fit = failing(
    lambda first: from_tflite(ring(first)),
    (FIRST[:, :3], r"'ring' is int8 of shape \(1, 4, 2\), its first value int8 of shape"),
    (FIRST.astype(np.int16), "its first value int16"),
)


def called(number: int, *others: Subgraph) -> bytes:
    return model_of(Subgraph({"x": ROW}, [call_once(number)], "x", "x"), *others)


@pytest.mark.parametrize("number", [0, 1, 2**31 - 1, -1])
def test_a_subgraph_that_there_is_not(number: int) -> None:
    check_refused(called(number), f"CALL_ONCE runs subgraph {number}, there are 0 others")


def test_what_call_once_runs_and_assigns_must_fit() -> None:
    other = Subgraph({"x y": ROW}, [("RELU", "x", "y")], "x", "")
    check_refused(called(1, other), "operator 0 CALL_ONCE: runs RELU", UnsupportedOperatorError)
    other = Subgraph({"x y": ROW}, [("RELU", "x", "y")], "", "")
    message = "subgraph 1: operator 0 RELU: reads tensor 0"
    check_refused(called(1, other), message, ModelFormatError)
    other = Subgraph({"x": ROW, **HANDLE}, [handle(), ("ASSIGN_VARIABLE", "handle x", "")], "x", "")
    message = "'x', which is no constant"
    check_refused(called(1, other), message, UnsupportedOperatorError)
    nodes = [handle(), ("ASSIGN_VARIABLE", "handle x", ""), ("READ_VARIABLE", "handle", "wide")]
    tensors = {"x": ROW, "wide": ((2, 4), "int8", Q), **HANDLE}
    message = r"'ring' is int8 of shape \(1, 4\), and int8 of shape \(2"
    check_refused(model_of(Subgraph(tensors, nodes, "x", "wide")), message)
    main = Subgraph({"x y": ROW}, [("READ_VARIABLE", "x", "y")], "x", "y")
    check_refused(model_of(main), "first input is no result of a VAR_HANDLE")


test_a_variable_tensor_is_of_a_type_that_has_values = refused(
    ("keeps a value of type resource", one("ABS", state(1, dtype="resource"), gives="float32"))
)
