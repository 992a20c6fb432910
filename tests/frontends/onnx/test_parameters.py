"""Float weights and biases of quantized products, against ONNX Runtime."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.support.onnx_branches import RNG, Case, Weights, check, floats

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
