"""Extremes along axes, against ONNX Runtime, of infinities alone, too."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

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
