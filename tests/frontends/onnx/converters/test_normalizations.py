"""Normalizations and norms, in the order that ONNX Runtime adds their sums in."""

import numpy as np
import pytest

from tests.support.onnx_branches import RNG, Case, Weights, check, floats
from tests.support.onnx_graphs import Held, Net, Node, one

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


@pytest.mark.parametrize("width", [1, 7, 8, 15, 23, 32])
def test_every_bit_is_onnx_runtimes(width: int) -> None:
    rng = np.random.default_rng(width)
    data = {"x": rng.normal(0.5, 2, (2, 9, width)).astype(np.float32)}
    constants = {name: rng.normal(1, 0.3, width).astype(np.float32) for name in "sb"}
    constants["w"] = rng.normal(1, 0.3, (9, width)).astype(np.float32)
    nodes: list[Node] = [
        ("LayerNormalization", "x s b", "y", {"axis": -1, "epsilon": 1e-6}),
        ("LayerNormalization", "x w", "z", {"axis": 1}),
    ]
    Net(nodes, data, constants).check()


@pytest.mark.parametrize("width", [7, 24])
def test_mean_and_deviation_as_results(width: int) -> None:
    data = np.random.default_rng(width).normal(0.5, 2, (2, 3, width)).astype(np.float32)
    net = one("LayerNormalization", data, Held(np.ones(width, np.float32)), axis=2, results=3)
    net.check_near(rtol=2.0**-22)  # the sum may have another order
