"""Gemm and QGemm whose first operand is transposed, against ONNX Runtime."""

from typing import Any

import numpy as np
import pytest

from tests.support.onnx_graphs import Net, Node

RNG = np.random.default_rng(11)
DATA = {"q": RNG.integers(0, 256, (8, 3)).astype(np.uint8)}
CONSTANTS = {
    "sx": np.float32(0.031),
    "zx": np.uint8(117),
    "sw": RNG.uniform(0.005, 0.02, 5).astype(np.float32),
    "zw": np.zeros(5, np.int8),
    "sy": np.float32(0.052),
    "zy": np.uint8(130),
    "bias": RNG.integers(-900, 900, 5).astype(np.int32),
}


def model(attributes: dict[str, int], form: str) -> Net:
    is_transposed = bool(attributes.get("transB", 0))
    weights = RNG.integers(-127, 128, (5, 8) if is_transposed else (8, 5)).astype(np.int8)
    steps = (CONSTANTS["sx"] * np.asarray(CONSTANTS["sw"])).astype(np.float32)
    constants = {**CONSTANTS, "w": weights, "sb": steps}
    nodes: list[Node] = [
        ("DequantizeLinear", "q sx zx", "x"),
        ("DequantizeLinear", "w sw zw", "weights", {"axis": 0 if is_transposed else 1}),
        ("DequantizeLinear", "bias sb", "b", {"axis": 0}),
        ("Gemm", "x weights b", "y", attributes),
    ]
    if form == "float":
        return Net(nodes, DATA, constants, [nodes[-1][2]])
    nodes.append(("QuantizeLinear", "y sy zy", "r"))
    if form == "QGemm":
        operands = "q sx zx w sw zw bias sy zy"
        nodes = [("QGemm", operands, "r", {"transA": 0, "transB": 0, **attributes})]
    return Net(nodes, DATA, constants, [nodes[-1][2]])


@pytest.mark.parametrize("form", ["bytes", "float", "QGemm"])
@pytest.mark.parametrize("attributes", [{"transA": 1}, {"transA": 1, "transB": 1}], ids=str)
def test_integers_are_the_same(attributes: dict[str, int], form: str) -> None:
    model(attributes, form).check()


@pytest.mark.parametrize("encoding", [" sy zy", ""])
def test_a_bias_that_is_an_input(encoding: str) -> None:
    operands = f"q sx zx w sw zw bias{encoding}"
    weights = RNG.integers(-127, 128, (8, 5)).astype(np.int8)
    inputs: dict[str, Any] = {
        "q": RNG.integers(0, 256, (3, 8)).astype(np.uint8),
        "bias": CONSTANTS["bias"],
    }
    constants = {**CONSTANTS, "w": weights}
    del constants["bias"]
    nodes: list[Node] = [("QGemm", operands, "r", {"alpha": 0.7})]
    Net(nodes, inputs, constants).check(in_float=True)
