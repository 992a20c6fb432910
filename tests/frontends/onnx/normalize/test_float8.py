"""Tensors and weights of float8, against ONNX Runtime."""

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from frontends.errors import UnsupportedOperatorError
from tests.support.onnx_graphs import Array, Net, Node, onnx, pair, refused

KINDS = ("float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz")


def reals() -> Array:
    """Return what every float16 stands for, with ties, infinities and NaN, and numbers beyond."""
    with np.errstate(invalid="ignore"):
        every = np.arange(1 << 16, dtype=np.uint16).view(np.float16).astype(np.float32)
    return np.concatenate([every, np.array([1e9, -1e9, 464.01, 61441], np.float32)])


@pytest.mark.parametrize("kind", KINDS)
def test_every_number_is_rounded_alike(kind: str) -> None:
    data = {"x": reals()}
    known = {"s": np.float32(0.37), "z": np.zeros((), getattr(ml_dtypes, kind))}
    Net(pair("x s z", "y"), data, known, opset=21).check()
    number = onnx.helper.np_dtype_to_tensor_dtype(np.dtype(getattr(ml_dtypes, kind)))
    casts = [("Cast", "x", "q", {"to": number}), ("Cast", "q", "y", {"to": 1})]
    Net(casts, data, opset=21).check()


@pytest.mark.parametrize("kind", KINDS[::2])
def test_scales_of_columns_and_moves(kind: str) -> None:
    rng = np.random.default_rng(3)
    data = {"x": rng.normal(0, 9, (4, 6)).astype(np.float32)}
    known: dict[str, Any] = {
        "s": rng.uniform(0.1, 2, 6).astype(np.float32),
        "z": np.zeros(6, getattr(ml_dtypes, kind)),
    }
    nodes: list[Node] = [
        ("QuantizeLinear", "x s z", "q", {"axis": 1}),
        ("Transpose", "q", "t", {"perm": [1, 0]}),
        ("DequantizeLinear", "t s z", "y", {"axis": 0}),
    ]
    Net(nodes, data, known, opset=21).check()


@pytest.mark.parametrize("kind", KINDS)
def test_weights(kind: str) -> None:
    rng = np.random.default_rng(4)
    known = {
        "w": rng.integers(-8, 8, (16, 8)).astype(np.float32).astype(getattr(ml_dtypes, kind)),
        "s": np.exp2(rng.integers(-4, 1, 8)).astype(np.float32),
    }
    data = {"x": rng.integers(-8, 8, (3, 16)).astype(np.float32)}
    nodes = [("DequantizeLinear", "w s", "d", {"axis": 1}), ("MatMul", "x d", "y")]
    Net(nodes, data, known, opset=21).check()


LOOSE = {"s": np.float32(1), "z": np.zeros((), ml_dtypes.float8_e5m2)}
THREE = {"x": np.zeros(3, np.float32)}
CASTS: list[Node] = [("Cast", "x", "q", {"to": 19, "saturate": 0}), ("Cast", "q", "y", {"to": 1})]
QUANTIZED: list[Node] = [
    ("QuantizeLinear", "x s z", "q", {"saturate": 0}),
    ("DequantizeLinear", "q s z", "y"),
]
test_numbers_without_a_bound_are_refused = refused(
    ("float8", Net(CASTS, THREE, opset=21)),
    ("float8", Net(QUANTIZED, THREE, LOOSE, opset=21)),
    error=UnsupportedOperatorError,
)
