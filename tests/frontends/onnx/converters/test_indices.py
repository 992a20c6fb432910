"""Gather, GatherElements, OneHot, TopK, EyeLike and Range: choosing and counting by indices."""

from typing import Any

import numpy as np
import pytest

import tvm_qnn as qnn
from frontends.onnx import from_onnx
from tests.support.errors import fails
from tests.support.onnx_graphs import Held, Net, equal, one, refused, subgraph

RNG = np.random.default_rng(1)
X, INDICES = RNG.normal(size=(5, 6, 7)).astype(np.float32), RNG.integers(-5, 5, (2, 3))
test_indices_from_both_ends = equal(
    {f"{axis}": one("Gather", X, INDICES, axis=axis) for axis in (0, 1, -1)}
)

TABLE = Held(np.arange(30, dtype=np.float32).reshape(5, 6))
FORMS: dict[str, tuple[list[Any], dict[str, int]]] = {
    "Gather": ([], {"axis": 0}),
    "GatherElements": ([], {"axis": 0}),
    "GatherND": ([], {}),
    "ScatterElements": ([[[-1.0, -1], [-1, -1]]], {"axis": 0}),
    "ScatterND": ([[-1.0, -2]], {}),
}
"""The operands after the indices, and the attributes."""


@pytest.mark.parametrize("operator", FORMS)
def test_an_index_that_is_not_there_ends_the_run(operator: str) -> None:
    # ONNX Runtime raises, too.
    updates, attributes = FORMS[operator]
    indices = np.array([[0, -5], [4, 2]])
    net = one(operator, TABLE, indices, *updates, **attributes)
    library = qnn.build(*from_onnx(net.model)[:1], num_threads=1)
    np.testing.assert_array_equal(library.run(indices), net.theirs()[0])
    for index in (7, -8, 2**40):
        indices[1, 1] = index
        fails("Non-zero status code", net.theirs, error=Exception)
        size = "5|6"
        fails(f"{operator}.*'y0': index {index} is beyond the [{size}]", library.run, indices)
    indices[1, 1] = 2
    np.testing.assert_array_equal(library.run(indices), net.theirs()[0])


def test_a_branch_that_is_not_taken_ends_no_run() -> None:
    data = {"x": np.arange(5, dtype=np.float32), "i": np.array([0, 9])}
    data |= {"is": np.array(False), "z": np.array([7, 8], np.float32)}
    branches = {
        "then_branch": subgraph([("Gather", "x i", "a")], [], [("a", 1, (2,))]),
        "else_branch": subgraph([("Neg", "z", "b")], [], [("b", 1, (2,))]),
    }
    Net([("If", "is", "y", branches)], data).check()


CLASSES = np.random.default_rng(3).integers(-7, 8, (4, 6))  # some beyond either end
VALUES = [-0.5, 2.25]
test_one_hot_equals_onnx_runtime = equal(
    {
        f"{axis} {dtype}": one(
            "OneHot", CLASSES.astype(dtype), np.dtype(dtype).type(5), VALUES, axis=axis
        )
        for axis in (-1, 0, 1, 2, -3)
        for dtype in ("int32", "int64")
    }
    | {"values of a run": one("OneHot", np.array([0, 2, -1]), [3], np.array([7, 8], np.float32))}
)
test_bad_input_is_one_error = refused(
    ("OneHot: a tensor has", one("OneHot", CLASSES, 1 << 40, VALUES, axis=-1)),
    ("'depth'", one("OneHot", CLASSES, -3, VALUES, axis=-1)),
    ("'axis'", one("OneHot", CLASSES, 5, VALUES, axis=9)),
)
