"""The float32 operators between quantized ones, as near to ONNX Runtime as documented, and NaN."""

from typing import Any

import numpy as np
import pytest

from tests.support.onnx_graphs import Array, Net, Node, equal, near, one, pair
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


SHAPE = (1, 16)
DATA = {"x": (np.arange(16).reshape(SHAPE) % 8 - 3).astype(np.float32)}
QUANTIZED = {"s": np.float32(0.5), "z": np.int8(0), "t": np.float32(0.0625), "u": np.int8(0)}
NUMBERS = {"zero": np.float32(0), "six": np.float32(6)}
BETWEEN: list[tuple[Any, ...]] = [
    *((op, "n") for op in ("Relu", "Sigmoid", "Tanh", "HardSigmoid", "HardSwish", "Elu")),
    *((op, "n") for op in ("Selu", "Celu", "Erf", "Sign", "ThresholdedRelu")),
    *((op, "n", {"keepdims": 1}) for op in ("ReduceMax", "ReduceMin")),
    *(("Clip", "n zero six"), ("Clip", "n zero"), ("Add", "n d")),
    *((op, operands) for op in ("Max", "Min") for operands in ("n d", "d n", "d n zero")),
    *(("Div", "d zero"), ("Div", "zero zero"), ("Div", "d d")),
]


def test_nan_stays_between_bytes() -> None:
    nodes: list[Node] = [*pair("x s z", "d"), ("Sqrt", "d", "n")]
    for number, (operator, operands, *attributes) in enumerate(BETWEEN):
        nodes.append((operator, operands, f"y{number}", *attributes))
        nodes.append(("QuantizeLinear", f"y{number} t u", f"r{number}"))
    outputs = [f"r{number}" for number in range(len(BETWEEN))]
    model = Net(nodes, DATA, {**QUANTIZED, **NUMBERS}, outputs)
    model.check(in_float=True, primitives=True)


def test_a_clip_makes_infinities_finite() -> None:
    data = {"x": np.array([-np.inf, -3, 0, 9, np.inf, np.nan], np.float32)}
    ends = ("x", "x zero", "x _ six", "x zero six")
    nodes: list[Node] = [("Clip", each, f"y{number}") for number, each in enumerate(ends)]
    Net(nodes, data, NUMBERS).check()


def test_extremes_of_tensors_in_float() -> None:
    draw = np.random.default_rng(3)
    data = {name: draw.normal(0, 1, (5, 33)).astype(np.float32) for name in "ab"}
    for each in data.values():
        each[draw.random(each.shape) < 0.2] = np.nan
    nodes: list[Node] = [("Max", "a b", "y"), ("Min", "b a b", "z")]
    Net(nodes, data).check()


@pytest.mark.parametrize("axis", [0, 1])
def test_places(axis: int) -> None:
    draw = np.random.default_rng(4)
    data = draw.normal(0, 1, (6, 7)).astype(np.float32)
    data[draw.random(data.shape) < 0.3] = np.nan
    data[0], data[1], data[2, 0] = np.inf, -np.inf, np.nan
    nodes: list[Node] = [(f"Arg{end}", "x", end, {"axis": axis}) for end in ("Max", "Min")]
    Net(nodes, {"x": data}).check()


def test_rows_whose_first_element_is_nan() -> None:
    data = {"x": np.array([[np.nan, 1, 2], [1, np.nan, 2], [3, 2, np.nan]], np.float32)}
    nodes: list[Node] = [(f"Reduce{end}", "x", end, {"axes": [1]}) for end in ("Max", "Min")]
    Net(nodes, data, opset=13).check()
