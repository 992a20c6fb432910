"""Equations and windows over which the package onnx would not end, found before it reads them."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from frontends.errors import ModelFormatError, UnsupportedOperatorError
from frontends.onnx import from_onnx
from frontends.onnx.graph.shapes import with_shapes
from frontends.onnx.read.limits import WINDOWS
from frontends.onnx.read.reader import read_proto
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


helper = onnx.helper
MOST = (1 << 63) - 1


def sliced(*nodes: Any, result: Any = ("t", "y")) -> Any:
    """Return a model of nodes from x, of shape [1, 1, 8, 8], and a Slice after them."""
    constants: dict[str, np.ndarray[Any, Any]] = {
        "low": np.array([0], np.int64),
        "high": np.array([3], np.int64),
        "axes": np.array([2], np.int64),
        "w": np.ones((1, 1, 12, 1), np.float32),
        "flag": np.array(True),
    }
    nodes = (*nodes, helper.make_node("Slice", [result[0], "low", "high", "axes"], [result[1]]))
    values = [helper.make_tensor_value_info("x", 1, [1, 1, 8, 8])]
    output = helper.make_tensor_value_info(result[1], 1, [None] * 4)
    tensors = [onnx.numpy_helper.from_array(array, name) for name, array in constants.items()]
    graph = helper.make_graph(nodes, "g", values, [output], tensors)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def _window(operator: str, **attributes: Any) -> Any:
    inputs = ["x", "w"] if operator.startswith("Conv") else ["x"]
    return helper.make_node(operator, inputs, ["t"], **attributes)


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
    ort = pytest.importorskip("onnxruntime", reason="ONNX Runtime is not installed")
    model = sliced(_window(operator, **attributes))
    assert _shape_of(model, "y")[2] == size
    session = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    (result,) = session.run(None, {"x": np.ones((1, 1, 8, 8), np.float32)})
    assert result.shape[2] == size


def test_a_window_after_a_slice() -> None:
    first = helper.make_node("Slice", ["x", "low", "high", "axes"], ["s"])
    window = helper.make_node("MaxPool", ["s"], ["t"], kernel_shape=[6, 1])
    with pytest.raises(ModelFormatError, match=re.escape("data of shape [1, 1, 3, 8]")):
        _shape_of(sliced(first, window), "y")


def test_a_window_in_a_branch() -> None:
    nodes = [
        helper.make_node("MaxPool", ["x"], ["p"], kernel_shape=[12, 1]),
        helper.make_node("Slice", ["p", "low", "high", "axes"], ["q"]),
    ]
    graph = helper.make_graph(nodes, "b", [], [helper.make_tensor_value_info("q", 1, None)])
    choice = helper.make_node("If", ["flag"], ["t"], then_branch=graph, else_branch=graph)
    with pytest.raises(ModelFormatError, match="MaxPool 'p' has a window too large"):
        _shape_of(sliced(choice), "y")


def test_a_wrong_shape_of_an_output_hides_nothing() -> None:
    model = sliced(_window("MaxPool", kernel_shape=[12, 1]))
    model.graph.output.append(helper.make_tensor_value_info("t", 1, [1, 1, 5, 8]))
    with pytest.raises(ModelFormatError, match="MaxPool 't' has a window too large"):
        _shape_of(model, "y")


def test_the_table_has_every_operator_with_a_kernel() -> None:
    schemas = onnx.defs.get_all_schemas()
    windows = {each.name for each in schemas if {"kernel_shape", "pads"} <= set(each.attributes)}
    assert windows <= set(WINDOWS)
