"""BatchNormalization between DequantizeLinear and QuantizeLinear, against ONNX Runtime."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.onnx_branches import RNG, Case, Weights, check, floats

HELD = Weights(RNG.integers(-127, 128, 4).astype(np.int8), np.array(0.01, np.float32))


def numbers(size: int) -> tuple[np.ndarray, ...]:
    return (
        *(floats(*RNG.normal(0, 1, size)) for _ in range(3)),
        floats(*RNG.uniform(0.1, 3, size)),
    )


CASES = {
    "images": Case("BatchNormalization", ("x", *numbers(4)), {}, 2.0**-6),
    "a quantized scale": Case("BatchNormalization", ("x", HELD, *numbers(4)[1:]), {}, 2.0**-6),
    "another epsilon": Case("BatchNormalization", ("x", *numbers(4)), {"epsilon": 0.01}, 0.017),
}


@pytest.mark.parametrize("dtype", ["uint8", "int8"])
def test_channels(dtype: str) -> None:
    assert check(CASES, dtype, 0.0625)


def test_rows() -> None:
    assert check(
        {"rows": Case("BatchNormalization", ("x", *numbers(64)), {}, 0.01)}, "uint8", 0.04, (4, 64)
    )
