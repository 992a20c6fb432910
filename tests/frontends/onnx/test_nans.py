"""NaN, between DequantizeLinear and QuantizeLinear and elsewhere."""

from typing import Any

import numpy as np
import pytest

from tests.support.onnx_graphs import Net, Node, pair

SHAPE = (1, 16)
DATA = {"x": (np.arange(16).reshape(SHAPE) % 8 - 3).astype(np.float32)}
QUANTIZED = {"s": np.float32(0.5), "z": np.int8(0), "t": np.float32(0.0625), "u": np.int8(0)}
NUMBERS = {"zero": np.float32(0), "six": np.float32(6)}
BETWEEN: list[tuple[Any, ...]] = [
    *((op, "n") for op in ("Relu", "Sigmoid", "Tanh", "HardSigmoid", "HardSwish", "Elu")),
    *((op, "n") for op in ("Selu", "Celu", "Erf", "Sign", "ThresholdedRelu")),
    *((op, "n", {"keepdims": 1}) for op in ("ReduceMax", "ReduceMin")),
    *(("Clip", "n zero six"), ("Clip", "n zero"), ("Add", "n d")),
    *((op, operands) for op in ("Max", "Min") for operands in ("n d", "d n", "d n zero")),
    *(("Div", "d zero"), ("Div", "zero zero"), ("Div", "d d")),
]


def test_nan_stays_between_bytes() -> None:
    nodes: list[Node] = [*pair("x s z", "d"), ("Sqrt", "d", "n")]
    for number, (operator, operands, *attributes) in enumerate(BETWEEN):
        nodes.append((operator, operands, f"y{number}", *attributes))
        nodes.append(("QuantizeLinear", f"y{number} t u", f"r{number}"))
    outputs = [f"r{number}" for number in range(len(BETWEEN))]
    model = Net(nodes, DATA, {**QUANTIZED, **NUMBERS}, outputs)
    model.check(in_float=True, primitives=True)


def test_a_clip_makes_infinities_finite() -> None:
    data = {"x": np.array([-np.inf, -3, 0, 9, np.inf, np.nan], np.float32)}
    ends = ("x", "x zero", "x _ six", "x zero six")
    nodes: list[Node] = [("Clip", each, f"y{number}") for number, each in enumerate(ends)]
    Net(nodes, data, NUMBERS).check()


def test_extremes_of_tensors_in_float() -> None:
    draw = np.random.default_rng(3)
    data = {name: draw.normal(0, 1, (5, 33)).astype(np.float32) for name in "ab"}
    for each in data.values():
        each[draw.random(each.shape) < 0.2] = np.nan
    nodes: list[Node] = [("Max", "a b", "y"), ("Min", "b a b", "z")]
    Net(nodes, data).check()


@pytest.mark.parametrize("axis", [0, 1])
def test_places(axis: int) -> None:
    draw = np.random.default_rng(4)
    data = draw.normal(0, 1, (6, 7)).astype(np.float32)
    data[draw.random(data.shape) < 0.3] = np.nan
    data[0], data[1], data[2, 0] = np.inf, -np.inf, np.nan
    nodes: list[Node] = [(f"Arg{end}", "x", end, {"axis": axis}) for end in ("Max", "Min")]
    Net(nodes, {"x": data}).check()


def test_rows_whose_first_element_is_nan() -> None:
    data = {"x": np.array([[np.nan, 1, 2], [1, np.nan, 2], [3, 2, np.nan]], np.float32)}
    nodes: list[Node] = [(f"Reduce{end}", "x", end, {"axes": [1]}) for end in ("Max", "Min")]
    Net(nodes, data, opset=13).check()
