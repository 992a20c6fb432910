"""Tensors and weights of float8, against ONNX Runtime."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from frontends.errors import UnsupportedOperatorError
from frontends.onnx import from_onnx
from tests.support.onnx_graphs import Array, Node, check_equal, model_of, onnx

KINDS = ("float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz")


def reals() -> Array:
    """Return what every float16 stands for, with ties, infinities and NaN, and numbers beyond."""
    with np.errstate(invalid="ignore"):
        every = np.arange(1 << 16, dtype=np.uint16).view(np.float16).astype(np.float32)
    return np.concatenate([every, np.array([1e9, -1e9, 464.01, 61441], np.float32)])


def pair(kind: str, axis: dict[str, int]) -> list[Node]:
    return [("QuantizeLinear", "x s z", "q", {**axis}), ("DequantizeLinear", "q s z", "y", axis)]


@pytest.mark.parametrize("kind", KINDS)
def test_every_number_is_rounded_alike(kind: str) -> None:
    data = {"x": reals()}
    known = {"s": np.float32(0.37), "z": np.zeros((), getattr(ml_dtypes, kind))}
    check_equal(model_of(pair(kind, {}), data, ["y"], known, opset=21), data)
    number = onnx.helper.np_dtype_to_tensor_dtype(np.dtype(getattr(ml_dtypes, kind)))
    casts = [("Cast", "x", "q", {"to": number}), ("Cast", "q", "y", {"to": 1})]
    check_equal(model_of(casts, data, ["y"], {}, opset=21), data)


@pytest.mark.parametrize("kind", KINDS[::2])
def test_scales_of_columns_and_moves(kind: str) -> None:
    rng = np.random.default_rng(3)
    data = {"x": rng.normal(0, 9, (4, 6)).astype(np.float32)}
    known: dict[str, Any] = {
        "s": rng.uniform(0.1, 2, 6).astype(np.float32),
        "z": np.zeros(6, getattr(ml_dtypes, kind)),
    }
    nodes = pair(kind, {"axis": 1})
    nodes[1:] = [
        ("Transpose", "q", "t", {"perm": [1, 0]}),
        ("DequantizeLinear", "t s z", "y", {"axis": 0}),
    ]
    check_equal(model_of(nodes, data, ["y"], known, opset=21), data)


@pytest.mark.parametrize("kind", KINDS)
def test_weights(kind: str) -> None:
    rng = np.random.default_rng(4)
    known = {
        "w": rng.integers(-8, 8, (16, 8)).astype(np.float32).astype(getattr(ml_dtypes, kind)),
        "s": np.exp2(rng.integers(-4, 1, 8)).astype(np.float32),
    }
    data = {"x": rng.integers(-8, 8, (3, 16)).astype(np.float32)}
    nodes = [("DequantizeLinear", "w s", "d", {"axis": 1}), ("MatMul", "x d", "y", {})]
    check_equal(model_of(nodes, data, ["y"], known, opset=21), data)


@pytest.mark.parametrize("op", ["Cast", "QuantizeLinear"])
def test_numbers_without_a_bound_are_refused(op: str) -> None:
    data = {"x": np.zeros(3, np.float32)}
    nodes = pair("float8_e5m2", {})
    if op == "Cast":
        nodes = [("Cast", "x", "q", {"to": 19}), ("Cast", "q", "y", {"to": 1})]
    nodes[0][-1]["saturate"] = 0
    known = {"s": np.float32(1), "z": np.zeros((), ml_dtypes.float8_e5m2)}
    known = known if op != "Cast" else {}
    with pytest.raises(UnsupportedOperatorError, match="float8"):
        from_onnx(model_of(nodes, data, ["y"], known, opset=21))
