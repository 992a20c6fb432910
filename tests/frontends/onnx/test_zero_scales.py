"""Channels of weights whose scale is 0, against ONNX Runtime."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.support.onnx_graphs import Array, Node, check_equal, model_of

RNG = np.random.default_rng(12)
SCALES = np.array([0, 0.01, 0.03, 0], np.float32)
UNITS = len(SCALES)
IMAGE, ROWS = (1, 3, 4, 4), (5, 6)
CASES: dict[str, tuple[tuple[int, ...], Node, dict[str, int]]] = {
    "Conv": (IMAGE, ("Conv", "a r", "c", {}), {"axis": 0}),
    "Gemm": (ROWS, ("Gemm", "a r", "c", {"transB": 1}), {"axis": 0}),
    "MatMul": (ROWS, ("MatMul", "a r", "c", {}), {"axis": 1}),
    "ConvTranspose": (IMAGE, ("ConvTranspose", "a r", "c", {}), {"axis": 1}),
}
HAVE_BIAS = ("Conv", "Gemm")
BIASES: dict[str, Array] = {
    "no bias": np.zeros(0),
    "integers": RNG.integers(-500, 500, UNITS).astype(np.int32),
    "reals": RNG.normal(0, 1, UNITS).astype(np.float32),
}


def known(kind: str, shape: tuple[int, ...]) -> dict[str, Any]:
    extents: dict[str, tuple[int, ...]] = {
        "Gemm": (UNITS, shape[1]),
        "MatMul": (shape[1], UNITS),
        "Conv": (UNITS, 3, 3, 3),
        "ConvTranspose": (3, UNITS, 2, 2),
    }
    return {
        "s": np.float32(0.02),
        "z": np.uint8(9),
        "t": np.float32(0.05),
        "w": RNG.integers(-9, 9, extents[kind]).astype(np.int8),
        "ws": SCALES,
    }


@pytest.mark.parametrize(
    ("kind", "bias"),
    [(kind, bias) for kind in CASES for bias in BIASES if kind in HAVE_BIAS or bias == "no bias"],
)
def test_such_channels_give_their_zero_point(kind: str, bias: str) -> None:
    shape, (op, operands, result, how), axis = CASES[kind]
    constants, nodes = known(kind, shape), list[Any]()
    if len(BIASES[bias]):
        constants["b"], operands = BIASES[bias], f"{operands} b"
        if bias == "integers":
            constants["bs"] = constants["s"] * SCALES
            nodes, operands = [("DequantizeLinear", "b bs", "d", {"axis": 0})], "a r d"
    nodes += [
        ("DequantizeLinear", "x s z", "a", {}),
        ("DequantizeLinear", "w ws", "r", axis),
        (op, operands, result, how),
        ("QuantizeLinear", "c t z", "y", {}),
    ]
    data = {"x": RNG.integers(0, 256, shape).astype(np.uint8)}
    model = model_of(nodes, data, ["y:uint8"], constants)
    check_equal(model, data, in_float=kind == "ConvTranspose")


@pytest.mark.parametrize("scales", [SCALES, np.zeros((), np.float32)])
def test_so_do_those_of_quantized_operators(scales: Array) -> None:
    constants = {**known("Conv", IMAGE), "ws": scales, "wz": np.full(scales.shape, 3, np.int8)}
    data = {"x": RNG.integers(0, 256, IMAGE).astype(np.uint8)}
    nodes: list[Node] = [("QLinearConv", "x s z w ws wz t z", "y", {})]
    check_equal(model_of(nodes, data, ["y:uint8"], constants), data)
