"""Float weights and biases of quantized products, against ONNX Runtime."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.support.onnx_branches import RNG, Case, Weights, check, floats
from tests.support.onnx_graphs import Node, check_equal, model_of

REALS = RNG.normal(0, 0.2, (6, 4, 3, 3)).astype(np.float32)
BYTES = RNG.integers(-127, 128, (6, 4, 3, 3)).astype(np.int8)
ONE = np.array(0.01, np.float32)
EACH = RNG.uniform(0.001, 0.02, 6).astype(np.float32)
BIAS = floats(*RNG.normal(0, 1, 6))


def conv(*operands: Any, scale: float = 0.05, **more: Any) -> Case:
    return Case("Conv", ("x", *operands), {}, scale, **more)


CASES = {
    "weights": conv(REALS),
    "weights and bias": conv(REALS, BIAS),
    "positive weights": conv(np.abs(REALS), BIAS, scale=0.3),
    "nothing": conv(np.zeros_like(REALS), BIAS),
    "bias": conv(Weights(BYTES, ONE), BIAS),
    "bias of channels": conv(Weights(BYTES, EACH), BIAS),
    "relu": conv(REALS, BIAS, after="Relu"),
    "sigmoid": conv(REALS, BIAS, scale=1 / 256, after="Sigmoid"),
    "transposed": Case("ConvTranspose", ("x", REALS[:4, :3], BIAS[:3]), {}, 0.05),
    # Steps of a billionth: the first two biases are more of them than int32 holds.
    "beyond int32": Case(
        "ConvTranspose",
        ("x", Weights(BYTES[:4], np.array(1e-9, np.float32)), floats(3.5, -3.5, 0.05, -0.05)),
        {},
        1e-3,
    ),
    "transposed, of few": Case("ConvTranspose", ("x", Weights(BYTES[:4], ONE), BIAS[:4]), {}, 0.4),
}
ROWS = {
    "gemm": Case("Gemm", ("x", RNG.normal(0, 0.3, (64, 6)).astype(np.float32), BIAS), {}, 0.05),
    "gemm, turned": Case("Gemm", ("x", REALS.reshape(6, 36), BIAS), {"transB": 1}, 0.05),
}


@pytest.mark.parametrize("dtype", ["uint8", "int8"])
def test_convolutions(dtype: str) -> None:
    check(CASES, dtype, 0.0437)


def test_gemm() -> None:
    check({"gemm": ROWS["gemm"]}, "uint8", 0.0437, (4, 64))
    check({"gemm": ROWS["gemm, turned"]}, "int8", 0.0437, (8, 36))


@pytest.mark.parametrize(("axis", "groups"), [(0, 1), (1, 1), (1, 2)])
def test_a_bias_of_a_transposed_convolution_is_quantized_where_its_channels_have_scales(
    axis: int, groups: int
) -> None:
    rng = np.random.default_rng(3)
    weights = rng.integers(-100, 120, (4, 4 // groups, 3, 3)).astype(np.int8)
    count = weights.shape[axis]
    data = {"x": rng.normal(0, 2, (1, 4, 8, 8)).astype(np.float32)}
    constants = {
        "scale": np.float32(0.05),
        "point": np.int8(10),
        "kernel": weights,
        "scales": np.asarray(rng.uniform(0.01, 0.05, count), np.float32),
        "points": np.zeros(count, np.int8),
        "bias": rng.normal(size=4).astype(np.float32),
    }
    nodes: list[Node] = [
        ("QuantizeLinear", "x scale point", "q", {}),
        ("DequantizeLinear", "q scale point", "real", {}),
        ("DequantizeLinear", "kernel scales points", "weights", {"axis": axis}),
        ("ConvTranspose", "real weights bias", "sums", {"group": groups}),
        ("Relu", "sums", "relu", {}),
        ("QuantizeLinear", "relu scale point", "quantized", {}),
        ("DequantizeLinear", "quantized scale point", "y", {}),
    ]
    check_equal(model_of(nodes, data, ["y", "sums"], constants), data, in_float=True)
