"""Products of vectors, with scales of columns, and with any bias, against ONNX Runtime."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from frontends.errors import UnsupportedOperatorError
from frontends.onnx import from_onnx
from tests.support.onnx_graphs import Node, check_equal, model_of

RNG = np.random.default_rng(19)
DTYPES = [("uint8", "int8"), ("uint8", "uint8"), ("int8", "int8")]
SHAPES = {
    "vector": ((8,), (8, 5)),
    "by a vector": ((2, 3, 8), (8,)),
    "of vectors": ((8,), (8,)),
    "matrix": ((3, 8), (8, 5)),
    "matrices": ((2, 3, 8), (2, 8, 5)),
}
BIASES = [(), (1,), (5,), (1, 5), (3, 1), (3, 5)]


def drawn(dtype: str, shape: tuple[int, ...]) -> Any:
    info = np.iinfo(dtype)
    return RNG.integers(info.min, info.max + 1, shape).astype(dtype)


def encodings(dtype: str, weights: str, count: int = 0) -> dict[str, Any]:
    middle = {"uint8": 128, "int8": 0}
    scales = RNG.choice([0.0078125, 0.0113, 0.02], count) if count else 0.0113
    return {
        "sx": np.float32(0.0625),
        "zx": np.asarray(middle[dtype] - 11, dtype),
        "sw": np.asarray(scales, np.float32),
        "zw": np.full((count,) if count else (), middle[weights], weights),
        "sy": np.float32(0.25),
        "zy": np.asarray(middle[dtype] + 3, dtype),
    }


@pytest.mark.parametrize(("dtype", "weights"), DTYPES)
@pytest.mark.parametrize("form", ["operator", "group", "both from the run"])
@pytest.mark.parametrize("columns", [False, True])
@pytest.mark.parametrize("name", SHAPES)
def test_products(name: str, columns: bool, form: str, dtype: str, weights: str) -> None:
    left, right = SHAPES[name]
    if columns and len(right) < 2:
        return
    count = right[-1] if columns else 0
    constants, inputs = encodings(dtype, weights, count), {"x": drawn(dtype, left)}
    if columns and form == "operator" and len(right) > 2:  # as the operator wants them
        constants |= {key: constants[key].reshape(1, 1, -1).repeat(2, 0) for key in ("sw", "zw")}
    (inputs if form == "both from the run" else constants)["w"] = drawn(weights, right)
    nodes: list[Node] = [("QLinearMatMul", "x sx zx w sw zw sy zy", "y", {})]
    if form == "group":
        axis = {"axis": len(right) - 1} if columns else {}
        nodes = [
            ("DequantizeLinear", "x sx zx", "a", {}),
            ("DequantizeLinear", "w sw zw", "b", axis),
            ("MatMul", "a b", "c", {}),
            ("QuantizeLinear", "c sy zy", "y", {}),
        ]
    if columns and len(right) > 2 and form != "operator":
        return  # ONNX Runtime makes an operator of it, which refuses such scales
    check_equal(model_of(nodes, inputs, [f"y:{dtype}"], constants), inputs)


@pytest.mark.parametrize(("dtype", "weights"), DTYPES)
@pytest.mark.parametrize("columns", [False, True])
@pytest.mark.parametrize("shape", BIASES, ids=str)
def test_biases(shape: tuple[int, ...], columns: bool, dtype: str, weights: str) -> None:
    inputs = {"x": drawn(dtype, (3, 8))}
    constants = encodings(dtype, weights, 5 if columns else 0)
    constants |= {"w": drawn(weights, (8, 5)), "c": RNG.integers(-9000, 9000, shape, np.int32)}
    nodes: list[Node] = [("QGemm", "x sx zx w sw zw c sy zy", "y", {})]
    check_equal(model_of(nodes, inputs, [f"y:{dtype}"], constants), inputs)
    if columns:
        return
    constants["sc"] = np.asarray(constants["sx"] * constants["sw"], np.float32)
    nodes = [
        ("DequantizeLinear", "x sx zx", "a", {}),
        ("DequantizeLinear", "w sw zw", "b", {}),
        ("DequantizeLinear", "c sc", "d", {}),
        ("Gemm", "a b d", "e", {}),
        ("QuantizeLinear", "e sy zy", "y", {}),
    ]
    check_equal(model_of(nodes, inputs, [f"y:{dtype}"], constants), inputs)


@pytest.mark.parametrize("bias", ["c", "_"])
@pytest.mark.parametrize("result", ["sy zy", ""])
def test_alpha(bias: str, result: str) -> None:
    inputs = {"x": drawn("uint8", (3, 8))}
    constants = encodings("uint8", "int8", 5)
    constants |= {"w": drawn("int8", (8, 5)), "c": RNG.integers(-9000, 9000, 5, np.int32)}
    nodes: list[Node] = [("QGemm", f"x sx zx w sw zw {bias} {result}", "y", {"alpha": 0.37})]
    check_equal(model_of(nodes, inputs, ["y:uint8" if result else "y"], constants), inputs)


def test_weights_that_the_run_tells() -> None:
    inputs = {"x": drawn("uint8", (3, 8)), "w": drawn("int8", (5, 8))}
    nodes: list[Node] = [("QGemm", "x sx zx w sw zw", "y", {"transB": 1})]
    check_equal(model_of(nodes, inputs, ["y"], encodings("uint8", "int8")), inputs)


def test_biases_that_the_run_tells_are_refused() -> None:
    inputs = {"x": drawn("uint8", (3, 8)), "c": np.zeros(5, np.int32)}
    constants = {**encodings("uint8", "int8"), "w": drawn("int8", (8, 5))}
    nodes: list[Node] = [("QGemm", "x sx zx w sw zw c sy zy", "y", {})]
    with pytest.raises(UnsupportedOperatorError, match="'c' must be a constant"):
        from_onnx(model_of(nodes, inputs, ["y:uint8"], constants))
