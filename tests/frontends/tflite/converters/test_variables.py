"""Variables, and the first values that CALL_ONCE gives them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tvm_qnn
from frontends.errors import ModelFormatError, UnsupportedOperatorError
from frontends.tflite import from_tflite
from frontends.tflite.quantization import Quantization
from frontends.tflite.writer import ModelWriter
from qnn_ops import QnnError
from qnn_ops.dialect.signature import signature_of
from tests.support.arrays import full_range
from tests.support.tflite import check_refused
from tvm_qnn.compare import compare

Array = np.ndarray[Any, Any]

Q = Quantization.per_tensor(0.5, 3)
FIRST = np.arange(8, dtype=np.int8).reshape(1, 4, 2)


def handle(writer: ModelWriter, name: str = "ring") -> int:
    index = writer.tensor(f"{name}_handle", (1,), "resource")
    writer.operator("VAR_HANDLE", [], [index], shared_name=name)
    return index


def ring(first: Array | None = FIRST, name: str = "ring") -> bytes:
    """Return a model that keeps its last four inputs, and gives them all."""
    writer = ModelWriter()
    x = writer.tensor("x", (1, 1, 2), "int8", Q)
    if first is not None:
        writer.operator("CALL_ONCE", [], [], init_subgraph_index=1)
        begin = writer.subgraph()
        value = begin.tensor("first", first.shape, first.dtype.name, Q, first)
        begin.operator("ASSIGN_VARIABLE", [handle(begin, name), value], [])
        begin.end([], [])
    known = handle(writer)
    old, all_five, new, y = (
        writer.tensor(each, (1, size, 2), "int8", Q)
        for each, size in (("old", 4), ("all", 5), ("new", 4), ("y", 4))
    )
    writer.operator("READ_VARIABLE", [known], [old])
    writer.operator("CONCATENATION", [old, x], [all_five], axis=1)
    bounds = [
        writer.tensor(f"b{i}", (3,), "int32", None, np.array(values, np.int32))
        for i, values in enumerate(((0, 1, 0), (1, 4, 2)))
    ]
    writer.operator("SLICE", [all_five, *bounds], [new])
    writer.operator("ASSIGN_VARIABLE", [known, new], [])
    writer.operator("RELU", [new], [y])
    return writer.finish([x], [y])


def inputs(count: int) -> list[list[Array]]:
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


def test_some_tensors_alone_keep_the_state() -> None:
    mod, params = from_tflite(ring(), outputs=["old"])
    library = tvm_qnn.build(mod, "llvm", params)
    (first,), (second,) = inputs(2)
    np.testing.assert_array_equal(library.run(first), FIRST)
    np.testing.assert_array_equal(library.run(second)[:, 3], first[:, 0])


@pytest.mark.parametrize(
    ("first", "message"),
    [
        (FIRST[:, :3], r"'ring' is int8 of shape \(1, 4, 2\), its first value int8 of shape"),
        (FIRST.astype(np.int16), "its first value int16"),
    ],
)
def test_a_first_value_that_does_not_fit(first: Array, message: str) -> None:
    check_refused(ring(first), message)


def called(number: int) -> ModelWriter:
    writer = ModelWriter()
    writer.operator("CALL_ONCE", [], [], init_subgraph_index=number)
    writer.tensor("x", (1, 4), "int8", Q)
    return writer


@pytest.mark.parametrize("number", [0, 1, 2**31 - 1, -1])
def test_a_subgraph_that_there_is_not(number: int) -> None:
    check_refused(
        called(number).finish([0], [0]), f"CALL_ONCE runs subgraph {number}, there are 0 others"
    )


def test_call_once_may_do_nothing_else() -> None:
    writer = called(1)
    other = writer.subgraph()
    x, y = (other.tensor(name, (1, 4), "int8", Q) for name in "xy")
    other.operator("RELU", [x], [y])
    other.end([x], [])
    check_refused(
        writer.finish([0], [0]), "operator 0 CALL_ONCE: runs RELU", UnsupportedOperatorError
    )


def test_errors_of_a_subgraph_name_it() -> None:
    writer = called(1)
    other = writer.subgraph()
    x = other.tensor("x", (1, 4), "int8", Q)
    other.operator("RELU", [x], [other.tensor("y", (1, 4), "int8", Q)])
    check_refused(
        writer.finish([0], [0]), "subgraph 1: operator 0 RELU: reads tensor 0", ModelFormatError
    )


def test_what_is_assigned_must_fit_and_be_a_variable() -> None:
    writer = ModelWriter()
    x, y = (writer.tensor(name, (1, 4), "int8", Q) for name in "xy")
    wide = writer.tensor("wide", (2, 4), "int8", Q)
    known = handle(writer)
    writer.operator("ASSIGN_VARIABLE", [known, x], [])
    writer.operator("READ_VARIABLE", [known], [wide])
    with pytest.raises(QnnError, match=r"'ring' is int8 of shape \(1, 4\), and int8 of shape \(2"):
        from_tflite(writer.finish([x], [wide]))
    writer = ModelWriter()
    x, y = (writer.tensor(name, (1, 4), "int8", Q) for name in "xy")
    writer.operator("READ_VARIABLE", [x], [y])
    check_refused(writer.finish([x], [y]), "first input is no result of a VAR_HANDLE")


def test_a_variable_tensor_is_of_a_type_that_has_values() -> None:
    writer = ModelWriter()
    x = writer.tensor("x", (1,), "resource", is_variable=True)
    y = writer.tensor("y", (1,), "float32")
    writer.operator("ABS", [x], [y])
    check_refused(writer.finish([], [y]), "keeps a value of type resource")
