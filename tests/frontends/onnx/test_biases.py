"""Biases of convolutions whose scale is not that of data times weights."""

import warnings
from typing import Any

import numpy as np
import pytest

from frontends.onnx import from_onnx
from legalize.passes.fold_qdq import fold_qdq
from qnn_ops.errors import LeftInFloatWarning
from tests.support.onnx_graphs import Net

RNG = np.random.default_rng(5)
DATA = {"q": RNG.integers(0, 256, (1, 4, 6, 6)).astype(np.uint8)}
STEP = 2.0**-12
"""Of data times weights: sums of floats are exact."""


def model(scale: Any, point: int = 0) -> Net:
    scales = np.asarray(scale, np.float32)
    nodes = [
        ("DequantizeLinear", "q sx zx", "x"),
        ("DequantizeLinear", "w sw", "weights"),
        ("DequantizeLinear", "b sb zb", "bias", {"axis": 0} if scales.ndim else {}),
        ("Conv", "x weights bias", "y"),
        ("QuantizeLinear", "y sy zx", "r"),
    ]
    constants = {
        "sx": np.float32(2.0**-5),
        "zx": np.uint8(120),
        "w": RNG.integers(-127, 128, (3, 4, 3, 3)).astype(np.int8),
        "sw": np.float32(2.0**-7),
        "b": np.array([900, -4000, 2500], np.int32),
        "sb": scales,
        "zb": np.full(scales.shape, point, np.int32),
        "sy": np.float32(0.061),
    }
    return Net(nodes, DATA, constants)


@pytest.mark.parametrize("scale", [STEP, STEP * 1.009, STEP + 3e-6, [STEP] * 3])
def test_what_is_near_is_a_bias_of_integers(scale: Any) -> None:
    model(scale).check()


@pytest.mark.parametrize(
    ("scale", "point"), [(STEP * 2, 0), (STEP / 4, 0), ([STEP, STEP, STEP * 4], 0), (STEP, 3)]
)
def test_what_is_far_leaves_the_convolution_in_float(scale: Any, point: int) -> None:
    far = model(scale, point)
    far.check(in_float=True)
    with pytest.warns(LeftInFloatWarning, match="the scale of the bias is not that of data"):
        fold_qdq(from_onnx(far.model)[0])


def test_where_the_tolerance_ends() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fold_qdq(from_onnx(model(STEP + 3.4e-6).model)[0])
    with pytest.warns(LeftInFloatWarning):
        fold_qdq(from_onnx(model(STEP + 3.5e-6).model)[0])
