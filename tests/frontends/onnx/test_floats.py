"""The float32 operators between quantized ones, as near to ONNX Runtime as documented."""

import numpy as np
import pytest

from tests.support.onnx_graphs import Array, Net, Node, equal, near, one
from tests.support.x86 import host_has


def normal(*shape: int, seed: int = 0, scale: float = 1.0) -> Array:
    return np.random.default_rng(seed).normal(0, scale, shape).astype(np.float32)


A, B = normal(7, 33, seed=1), normal(7, 33, seed=2)
test_every_bit_is_the_same = equal(
    {
        **{op: one(op, A, B) for op in ("Add", "Sub", "Mul", "Div")},
        **{op: one(op, np.abs(normal(7, 333))) for op in ("Sqrt", "Erf")},
    }
)
# ONNX Runtime's is another polynomial.
test_tanh = near({"Tanh": one("Tanh", normal(4096, scale=3))}, atol=2.0**-21)


@pytest.mark.parametrize("products", [64, 512, 3000])
def test_sums_of_products(products: int) -> None:
    a, b = normal(16, products, seed=1), normal(products, 24, seed=2)
    net = one("MatMul", a, b)
    # Both sum in an order of their own, so no more can be said than that each sum of float32
    # is within its roundings of the exact one; 2^-21 is what was measured.
    assert np.all(np.abs(net.ours()[0] - net.theirs()[0]) <= 2.0**-21 * (np.abs(a) @ np.abs(b)))


@pytest.mark.parametrize("shape", [(3,), (20, 16), (20, 77), (6, 20, 130)])
def test_softmaxes_are_the_same(shape: tuple[int, ...]) -> None:
    rows = normal(*shape, scale=6)
    if len(shape) > 1:
        rows[0], rows[2], rows[3], rows[5, 0] = -np.inf, rows[2] * 30, rows[3] * 1e37, -np.inf
        rows[1, 0], rows[4, 0] = np.nan, np.inf
    nodes: list[Node] = [(op, "a", op) for op in ("Softmax", "LogSoftmax")]
    if len(shape) > 2:
        nodes.append(("Softmax", "a", "middle", {"axis": 1}))
    check_softmax(Net(nodes, {"a": rows}))


@pytest.mark.parametrize("number", [-np.inf, np.finfo(np.float32).min])
def test_rows_of_a_causal_mask_that_show_only_minus_infinity(number: float) -> None:
    rows = normal(2, 40, 40, scale=6)
    rows[0, ::3], rows[1, :, :3] = -np.inf, -np.inf
    constants = {"mask": np.tri(40, dtype=bool), "number": np.float32(number)}
    nodes: list[Node] = [("Where", "mask x number", "seen"), ("Softmax", "seen", "y")]
    check_softmax(Net(nodes, {"x": rows}, constants))


def check_softmax(net: Net) -> None:
    # ONNX Runtime has other orders of sums on processors without AVX512, which differ then.
    if host_has("avx512f"):
        net.check()
    else:
        net.check_near(rtol=2.0**-20, atol=2.0**-125)
