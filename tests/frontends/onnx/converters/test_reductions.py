"""Reductions along axes, in the order that ONNX Runtime adds them in, and CumProd."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tvm_qnn as qnn
from frontends.onnx import from_onnx
from tests.support.onnx_graphs import Node, check_equal, model_of

LARGEST = np.finfo(np.float32).max
ROWS = np.array(
    [
        [-np.inf, -np.inf, -np.inf],
        [np.inf, np.inf, np.inf],
        [-LARGEST, -np.inf, -np.inf],
        [LARGEST, np.inf, np.inf],
        [1.5, -np.inf, np.inf],
        [-0.5, 0.25, 2.0],
    ],
    np.float32,
)


@pytest.mark.parametrize("operator", ["ReduceMax", "ReduceMin"])
@pytest.mark.parametrize(
    ("attributes", "axes", "opset"),
    [
        ({"axes": [1]}, None, 13),
        ({"keepdims": 0}, [-1], 18),
        ({}, None, 18),
        ({"noop_with_empty_axes": 1}, None, 18),
        ({"axes": [0], "keepdims": 0}, None, 11),
    ],
    ids=["attribute", "operand", "all", "none", "first"],
)
@pytest.mark.parametrize("dtype", ["float32", "int32", "int8"])
def test_extremes(
    operator: str, attributes: dict[str, Any], axes: list[int] | None, opset: int, dtype: str
) -> None:
    data = ROWS if dtype == "float32" else np.nan_to_num(ROWS).clip(-99, 99).astype(dtype)
    if dtype == "int8" and opset < 12:
        pytest.skip("the standard has no int8 there")
    constants = {} if axes is None else {"a": np.array(axes)}
    operands = "x" if axes is None else "x a"
    nodes: list[Node] = [(operator, operands, "e", attributes), ("Cast", "e", "y", {"to": 1})]
    model = model_of(nodes, {"x": data}, ["y"], constants, opset)
    check_equal(model, {"x": data}, in_float=True)


onnx = pytest.importorskip("onnx", reason="onnx is not installed")
onnxruntime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")

CASES: list[tuple[tuple[int, ...], list[int], int]] = [
    ((1, 33, 7, 7), [2, 3], 1),
    ((2, 6, 8, 8), [-1, -2], 0),
    ((1, 21, 5, 5), [2, 3], 0),
    ((1, 10, 1, 2), [2, 3], 1),
    ((1, 9, 7), [2], 0),
    ((3, 5, 6, 7), [1, 2, 3], 1),
    ((1, 1, 7, 9), [2, 3], 1),
    ((6, 3), [1], 0),
    ((5, 13), [0, 1], 1),
]


def model() -> Any:
    helper, nodes = onnx.helper, []
    values: tuple[list[Any], list[Any]] = ([], [])
    for number, (shape, axes, keepdims) in enumerate(CASES):
        names = [f"x{number}"], [f"y{number}"]
        nodes.append(helper.make_node("ReduceMean", *names, axes=axes, keepdims=keepdims))
        for each, name, size in zip(values, names, (shape, None), strict=True):
            each.append(helper.make_tensor_value_info(name[0], onnx.TensorProto.FLOAT, size))
    graph = helper.make_graph(nodes, "means", *values)
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    return onnx.shape_inference.infer_shapes(made)


def test_means_have_all_bits() -> None:
    made, rng = model(), np.random.default_rng(3)
    data = [rng.normal(0, 2, shape).astype(np.float32) for shape, _, _ in CASES]
    session = onnxruntime.InferenceSession(
        made.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    wanted = session.run(None, {f"x{number}": each for number, each in enumerate(data)})
    mod, params = from_onnx(made)
    results = qnn.build(mod, "host", params).run(*data)
    for case, array in zip(CASES, wanted, strict=True):
        np.testing.assert_array_equal(results[f"y{CASES.index(case)}"], array, err_msg=str(case))
