"""Reductions along axes, in the order that ONNX Runtime adds them in, and CumProd."""

from typing import Any

import numpy as np

from tests.support.onnx_graphs import Net, Node, each, equal

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


HOW: dict[str, tuple[dict[str, Any], list[int] | None, int]] = {
    "attribute": ({"axes": [1]}, None, 13),
    "operand": ({"keepdims": 0}, [-1], 18),
    "all": ({}, None, 18),
    "none": ({"noop_with_empty_axes": 1}, None, 18),
    "first": ({"axes": [0], "keepdims": 0}, None, 11),  # the standard has no int8 there
}


def extremes(operator: str, how: str, dtype: str) -> Net:
    attributes, axes, opset = HOW[how]
    data = ROWS if dtype == "float32" else np.nan_to_num(ROWS).clip(-99, 99).astype(dtype)
    constants = {} if axes is None else {"a": np.array(axes)}
    operands = "x" if axes is None else "x a"
    nodes: list[Node] = [(operator, operands, "e", attributes), ("Cast", "e", "y", {"to": 1})]
    return Net(nodes, {"x": data}, constants, opset=opset)


OPERATORS = ("ReduceMax", "ReduceMin")
test_extremes = equal(each(extremes, OPERATORS, HOW, ("float32", "int32")), in_float=True)
test_extremes_of_bytes = equal(
    each(extremes, OPERATORS, [how for how in HOW if how != "first"], ["int8"]), in_float=True
)


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


def test_means_have_all_bits() -> None:
    rng = np.random.default_rng(3)
    data = {f"x{n}": rng.normal(0, 2, case[0]).astype(np.float32) for n, case in enumerate(CASES)}
    nodes: list[Node] = [
        ("ReduceMean", f"x{number}", f"y{number}", {"axes": axes, "keepdims": keepdims})
        for number, (_, axes, keepdims) in enumerate(CASES)
    ]
    Net(nodes, data, opset=13).check(in_float=True)
