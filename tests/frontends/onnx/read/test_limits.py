"""Equations and windows over which the package onnx would not end, found before it reads them."""

import re
from typing import Any

import numpy as np
import pytest

from frontends.errors import ModelFormatError, UnsupportedOperatorError
from frontends.onnx.graph.shapes import with_shapes
from frontends.onnx.read.limits import WINDOWS
from frontends.onnx.read.reader import read_proto
from tests.support.errors import fails
from tests.support.onnx_graphs import Net, Node, equal, on_runtime, one, onnx, refused, subgraph

Shapes = list[tuple[int, ...]]

TAKEN: list[tuple[str, Shapes]] = [
    ("IJ,JK->IK", [(2, 3), (3, 4)]),
    ("i j , j k -> i k", [(2, 3), (3, 4)]),
    ("...ii->...i", [(2, 3, 3)]),
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


def einsum(equation: str, shapes: Shapes) -> Net:
    rng = np.random.default_rng(1)
    arrays = (rng.integers(-9, 9, shape).astype(np.float32) for shape in shapes)
    return one("Einsum", *arrays, equation=equation, opset=13)


test_equals_onnx_runtime = equal({equation: einsum(equation, each) for equation, each in TAKEN})
# ONNX Runtime adds each product to 0, which makes 0 of a product that is -0.
test_products_without_a_sum = equal(
    {"i of 1": einsum("ij,ij->ij", [(1, 3), (2, 3)])}, signed_zeros=False
)
test_what_is_no_equation = refused(
    *((rf"Einsum 'y0': equation .*{reason}", einsum(*row)) for reason, row in MALFORMED.items()),
    error=ModelFormatError,
)
test_batches_of_fewer_than_0_axes = refused(
    (
        "GatherND 'y0': batch_dims is -9",
        one("GatherND", np.ones((2, 2), np.float32), [[0], [1]], batch_dims=-9),
    ),
    error=ModelFormatError,
)
test_letters_of_two_sizes = refused(
    *((reason, einsum(*row)) for reason, row in UNFIT.items()), error=UnsupportedOperatorError
)


MOST = (1 << 63) - 1
DATA = {"x": np.ones((1, 1, 8, 8), np.float32)}
CUT: Node = ("Slice", "t low high axes", "y")


def sliced(*nodes: Node) -> Any:
    """Return a model of nodes from x, of shape [1, 1, 8, 8], and a Slice after them."""
    constants: dict[str, Any] = {
        "low": np.array([0]),
        "high": np.array([3]),
        "axes": np.array([2]),
        "w": np.ones((1, 1, 12, 1), np.float32),
        "flag": np.array(True),
    }
    return Net([*nodes, CUT], DATA, constants).model


def _window(operator: str, **attributes: Any) -> Node:
    return (operator, "x w" if operator.startswith("Conv") else "x", "t", attributes)


def _shape_of(model: Any, name: str) -> list[int]:
    graph = with_shapes(read_proto(model), None)
    values = {value.name: value for value in (*graph.value_info, *graph.output)}
    return [dim.dim_value for dim in values[name].type.tensor_type.shape.dim]


@pytest.mark.parametrize(
    ("operator", "attributes", "text"),
    [
        ("MaxPool", {"kernel_shape": [12, 1]}, "kernel_shape [12, 1] would make"),
        ("MaxPool", {"kernel_shape": [1 << 31, 1]}, "shape [1, 1, -2147483639, 8]"),
        ("MaxPool", {"kernel_shape": [MOST, 1]}, f"kernel_shape [{MOST}, 1]"),
        ("MaxPool", {"kernel_shape": [12, 1], "auto_pad": "VALID"}, "shape [1, 1, -3, 8]"),
        ("MaxPool", {"kernel_shape": [3, 3], "dilations": [20, 1]}, "dilations [20, 1]"),
        ("MaxPool", {"kernel_shape": [12, 1], "pads": [2, 0, 0, 0]}, "pads [2, 0, 0, 0]"),
        ("AveragePool", {"kernel_shape": [1, 10]}, "shape [1, 1, 8, -1]"),
        ("LpPool", {"kernel_shape": [12, 1], "strides": [2, 1]}, "strides [2, 1]"),
        ("Conv", {}, "its weights would make a tensor of shape [1, 1, -3, 8]"),
        ("Conv", {"kernel_shape": [12, 1]}, "Conv 't' has a window too large for data of shape"),
        ("ConvTranspose", {"pads": [20, 0, 0, 0]}, "ConvTranspose 't' has a window"),
    ],
)
def test_a_window_larger_than_its_data(
    operator: str, attributes: dict[str, Any], text: str
) -> None:
    with pytest.raises(ModelFormatError, match=re.escape(text)):
        _shape_of(sliced(_window(operator, **attributes)), "y")


@pytest.mark.parametrize(
    ("operator", "attributes", "size"),
    [
        ("MaxPool", {"kernel_shape": [8, 1]}, 1),
        ("MaxPool", {"kernel_shape": [9, 1]}, 0),
        ("MaxPool", {"kernel_shape": [10, 1], "strides": [2, 1]}, 0),
        ("MaxPool", {"kernel_shape": [12, 1], "strides": [5, 1]}, 1),
        ("AveragePool", {"kernel_shape": [12, 1], "auto_pad": "SAME_UPPER"}, 3),
        ("Conv", {"pads": [2, 0, 2, 0]}, 1),
        ("ConvTranspose", {}, 3),
    ],
)
def test_a_window_that_onnx_runtime_runs(
    operator: str, attributes: dict[str, Any], size: int
) -> None:
    model = sliced(_window(operator, **attributes))
    assert _shape_of(model, "y")[2] == size
    assert on_runtime(model, DATA)[0].shape[2] == size


def test_a_window_after_a_slice() -> None:
    nodes: list[Node] = [
        ("Slice", "x low high axes", "s"),
        ("MaxPool", "s", "t", {"kernel_shape": [6, 1]}),
    ]
    with pytest.raises(ModelFormatError, match=re.escape("data of shape [1, 1, 3, 8]")):
        _shape_of(sliced(*nodes), "y")


def test_a_window_in_a_branch() -> None:
    nodes: list[Node] = [
        ("MaxPool", "x", "p", {"kernel_shape": [12, 1]}),
        ("Slice", "p low high axes", "q"),
    ]
    graph = subgraph(nodes, [], [("q", 1, None)])
    choice: Node = ("If", "flag", "t", {"then_branch": graph, "else_branch": graph})
    with pytest.raises(ModelFormatError, match="MaxPool 'p' has a window too large"):
        _shape_of(sliced(choice), "y")


def test_a_wrong_shape_of_an_output_hides_nothing() -> None:
    model = sliced(_window("MaxPool", kernel_shape=[12, 1]))
    model.graph.output.append(onnx.helper.make_tensor_value_info("t", 1, [1, 1, 5, 8]))
    fails("MaxPool 't' has a window too large", _shape_of, model, "y", error=ModelFormatError)


def test_the_table_has_every_operator_with_a_kernel() -> None:
    schemas = onnx.defs.get_all_schemas()
    windows = {each.name for each in schemas if {"kernel_shape", "pads"} <= set(each.attributes)}
    assert windows <= set(WINDOWS)
