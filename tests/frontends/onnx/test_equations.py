"""Equations of Einsum: those that ONNX Runtime takes, and what is wrong with others."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from frontends.errors import ModelFormatError, UnsupportedOperatorError
from frontends.onnx import from_onnx
from tests.support.onnx_graphs import check_equal, model_of, onnx

Shapes = list[tuple[int, ...]]

TAKEN: list[tuple[str, Shapes]] = [
    ("IJ,JK->IK", [(2, 3), (3, 4)]),
    ("i j , j k -> i k", [(2, 3), (3, 4)]),
    ("...ii->...i", [(2, 3, 3)]),
    ("ij,ij->ij", [(1, 3), (2, 3)]),
]
MALFORMED: dict[str, tuple[str, Shapes]] = {
    "row of letters": ("i$->i", [(2,)]),
    "'ik->' is no row": ("ij,jk->ik->", [(2, 3), (3, 4)]),
    "'i..' is no row": ("i..->i", [(2,)]),
    "1 terms for 2 operands": ("ij->i", [(2, 3), (3, 4)]),
    "must stand there once": ("ij->ijj", [(2, 3)]),
    "and on the left": ("ij->ik", [(2, 3)]),
}
UNFIT: dict[str, tuple[str, Shapes]] = {
    "j is 3 and 4": ("ij,jk", [(2, 3), (4, 5)]),
    "i is 2 and 3": ("iij->i", [(2, 3, 4)]),
}


def file(equation: str, shapes: Shapes) -> Any:
    helper, real = onnx.helper, onnx.TensorProto.FLOAT
    names = [f"x{number}" for number in range(len(shapes))]
    node = helper.make_node("Einsum", names, ["y"], equation=equation)
    pairs = zip(names, shapes, strict=True)
    given = [helper.make_tensor_value_info(name, real, shape) for name, shape in pairs]
    result = helper.make_tensor_value_info("y", real, None)
    graph = helper.make_graph([node], "graph", given, [result])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)


@pytest.mark.parametrize(("equation", "shapes"), TAKEN)
def test_equals_onnx_runtime(equation: str, shapes: Shapes) -> None:
    rng = np.random.default_rng(1)
    data = {
        f"x{number}": rng.integers(-9, 9, shape).astype(np.float32)
        for number, shape in enumerate(shapes)
    }
    node = ("Einsum", " ".join(data), "y", {"equation": equation})
    check_equal(model_of([node], data, ["y"], {}), data)


@pytest.mark.parametrize("reason", MALFORMED)
def test_what_is_no_equation(reason: str) -> None:
    with pytest.raises(ModelFormatError, match=rf"Einsum 'y': equation .*{reason}"):
        from_onnx(file(*MALFORMED[reason]))


@pytest.mark.parametrize("reason", UNFIT)
def test_letters_of_two_sizes(reason: str) -> None:
    with pytest.raises(UnsupportedOperatorError, match=reason):
        from_onnx(file(*UNFIT[reason]))
