"""MatMulInteger, MatMulNBits and QLinearConv: products of quantized matrices."""

from typing import Any

import numpy as np
import pytest

from frontends.errors import UnsupportedOperatorError
from tests.support.onnx_graphs import Array, Held, Net, Node, one, refused

DYNAMIC: list[Node] = [
    ("DynamicQuantizeLinear", "x", "q sx zx"),
    ("MatMulInteger", "q w zx zw", "sums"),
    ("Cast", "sums", "real", {"to": 1}),
    ("Mul", "sx sw", "factor"),
    ("Mul", "real factor", "product"),
    ("Add", "product bias", "y"),
]
"""What quantize_dynamic makes of a MatMul, which ONNX Runtime fuses, with the bias after it."""


def weights(dtype: str, per_column: bool, points: str) -> dict[str, Array]:
    rng = np.random.default_rng(4)
    info = np.iinfo(dtype)
    count = (20,) if per_column else ()
    zero = {"zero": np.zeros(count), "one": np.full(count, 3), "many": rng.integers(0, 9, count)}
    return {
        "w": rng.integers(info.min, info.max + 1, (70, 20)).astype(dtype),
        "sw": rng.uniform(0.001, 0.1, count).astype(np.float32),
        "zw": np.asarray(zero[points]).astype(dtype),
        "bias": rng.normal(0, 9, 20).astype(np.float32),
    }


@pytest.mark.parametrize(
    ("dtype", "per_column", "points"),
    [
        ("int8", False, "zero"),
        ("int8", True, "zero"),
        ("uint8", False, "one"),
        ("uint8", True, "many"),
    ],
)
def test_chains_of_dynamic_quantization(dtype: str, per_column: bool, points: str) -> None:
    constants = weights(dtype, per_column, points)
    data = {"x": np.random.default_rng(1).normal(0.3, 2, (2, 9, 70)).astype(np.float32)}
    Net(DYNAMIC, data, constants).check(primitives=True)


def test_bytes_with_readers_of_several_products() -> None:
    # ONNX Runtime then makes MatMulIntegerToFloat of each, and the bytes once.
    constants = weights("int8", False, "zero")
    second = [
        (op, *(text.replace("sums", "s").replace("real", "r") for text in texts), attrs)
        for op, *texts, attrs in ((*node[:3], dict(*node[3:])) for node in DYNAMIC[1:3])
    ]
    nodes = [*DYNAMIC, *second, ("Mul", "r factor", "other")]
    data = {"x": np.random.default_rng(2).normal(0, 2, (5, 70)).astype(np.float32)}
    Net(nodes, data, constants).check()


@pytest.mark.parametrize("data_dtype", ["uint8", "int8"])
def test_constant_zero_points(data_dtype: str) -> None:
    rng = np.random.default_rng(3)
    info, known = np.iinfo(data_dtype), weights("int8", False, "zero")
    data = rng.integers(info.min, info.max + 1, (4, 70)).astype(data_dtype)
    w, zw, zx = Held(known["w"]), Held(known["zw"]), Held(np.array(7, data_dtype))
    one("MatMulInteger", data, w, zx, zw).check()
    one("MatMulInteger", data, w).check()


def test_two_that_vary() -> None:
    rng = np.random.default_rng(5)
    x = rng.integers(0, 256, (3, 6, 30)).astype(np.uint8)
    w = rng.integers(-128, 128, (3, 30, 8)).astype(np.int8)
    one("MatMulInteger", x, w, np.array(131, np.uint8)).check()


@pytest.mark.parametrize("axes", [1, 2], ids=["row", "image"])
@pytest.mark.parametrize("padding", [{"auto_pad": "SAME_UPPER"}, {"auto_pad": "VALID"}], ids=str)
def test_convolutions_whose_scales_the_run_tells(padding: dict[str, Any], axes: int) -> None:
    rng, image = np.random.default_rng(6), [7] * axes
    x = rng.integers(0, 256, (2, 3, *image)).astype(np.uint8)
    w = Held(rng.integers(-127, 128, (4, 3, *[3] * axes)).astype(np.int8))
    sx, sy = np.array(0.02, np.float32), np.array(0.5, np.float32)
    sw = rng.uniform(0.001, 0.1, 4).astype(np.float32)
    zx, zw, zy = np.uint8(120), Held(np.zeros(4, np.int8)), np.uint8(7)
    bias = rng.integers(-900, 900, 4).astype(np.int32)
    one("QLinearConv", x, sx, zx, w, sw, zw, sy, zy, bias, **padding).check()


RNG = np.random.default_rng(11)
DATA = {"q": RNG.integers(0, 256, (8, 3)).astype(np.uint8)}
CONSTANTS = {
    "sx": np.float32(0.031),
    "zx": np.uint8(117),
    "sw": RNG.uniform(0.005, 0.02, 5).astype(np.float32),
    "zw": np.zeros(5, np.int8),
    "sy": np.float32(0.052),
    "zy": np.uint8(130),
    "bias": RNG.integers(-900, 900, 5).astype(np.int32),
}


def model(attributes: dict[str, int], form: str) -> Net:
    is_transposed = bool(attributes.get("transB", 0))
    weights = RNG.integers(-127, 128, (5, 8) if is_transposed else (8, 5)).astype(np.int8)
    steps = (CONSTANTS["sx"] * np.asarray(CONSTANTS["sw"])).astype(np.float32)
    constants = {**CONSTANTS, "w": weights, "sb": steps}
    nodes: list[Node] = [
        ("DequantizeLinear", "q sx zx", "x"),
        ("DequantizeLinear", "w sw zw", "weights", {"axis": 0 if is_transposed else 1}),
        ("DequantizeLinear", "bias sb", "b", {"axis": 0}),
        ("Gemm", "x weights b", "y", attributes),
    ]
    if form == "float":
        return Net(nodes, DATA, constants, [nodes[-1][2]])
    nodes.append(("QuantizeLinear", "y sy zy", "r"))
    if form == "QGemm":
        operands = "q sx zx w sw zw bias sy zy"
        nodes = [("QGemm", operands, "r", {"transA": 0, "transB": 0, **attributes})]
    return Net(nodes, DATA, constants, [nodes[-1][2]])


@pytest.mark.parametrize("form", ["bytes", "float", "QGemm"])
@pytest.mark.parametrize("attributes", [{"transA": 1}, {"transA": 1, "transB": 1}], ids=str)
def test_integers_are_the_same(attributes: dict[str, int], form: str) -> None:
    model(attributes, form).check()


@pytest.mark.parametrize("encoding", [" sy zy", ""])
def test_a_bias_that_is_an_input(encoding: str) -> None:
    operands = f"q sx zx w sw zw bias{encoding}"
    weights = RNG.integers(-127, 128, (8, 5)).astype(np.int8)
    inputs: dict[str, Any] = {
        "q": RNG.integers(0, 256, (3, 8)).astype(np.uint8),
        "bias": CONSTANTS["bias"],
    }
    constants = {**CONSTANTS, "w": weights}
    del constants["bias"]
    nodes: list[Node] = [("QGemm", operands, "r", {"alpha": 0.7})]
    Net(nodes, inputs, constants).check(in_float=True)


BYTES = np.ones((4, 4), np.uint8)
NONE = Held(np.zeros(0, np.uint8))
test_zero_points_that_are_refused = refused(
    (
        "the second operand has 0 zero points",
        one("MatMulInteger", BYTES, Held(BYTES), Held(np.array(3, np.uint8)), NONE),
    ),
    ("the first operand has 0 zero points", one("MatMulInteger", BYTES, Held(BYTES), NONE)),
    error=UnsupportedOperatorError,
)
