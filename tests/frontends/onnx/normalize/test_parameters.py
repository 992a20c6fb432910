"""Constants of quantized layers: weights, biases, scales, and integers of a few bits."""

from typing import Any

import numpy as np
import pytest

from frontends.onnx.graph.graph import Graph
from frontends.onnx.normalize.parameters import decode_few_bits
from tests.support.onnx_branches import RNG, Case, Weights, check, floats
from tests.support.onnx_graphs import Array, Net, Node, node_of, onnx, pair

DECODED: Node = ("DequantizeLinear", "q s z", "y")


def constants(dtype: str, scale: Any, point: Any) -> dict[str, Any]:
    kind = onnx.helper.tensor_dtype_to_np_dtype(getattr(onnx.TensorProto, dtype.upper()))
    array = np.arange(6).reshape(3, 2).astype(kind)
    points = np.asarray(point).astype(kind)
    return {"q": array, "s": np.asarray(scale, np.float32), "z": points}


def decoded(node: Node, known: dict[str, Any], outputs: list[str]) -> Graph:
    graph = Graph(Net([node], {}, known, outputs).model)
    graph.apply(decode_few_bits)
    return graph


CASES: dict[str, tuple[Any, Any, dict[str, int], Any]] = {
    "of all": (0.5, 2, {}, [[-1, -0.5], [0, 0.5], [1, 1.5]]),
    "of columns": ([1, 2], [0, 1], {"axis": -1}, [[0, 0], [2, 4], [4, 8]]),
    "of blocks": (
        *([[1, 1], [10, 10]], [[0, 0], [1, 1]], {"axis": 0, "block_size": 2}),
        [[0, 1], [2, 3], [30, 40]],
    ),
}


@pytest.mark.parametrize("dtype", ["int4", "uint4"])
@pytest.mark.parametrize("case", CASES)
def test_gives_real_numbers(case: str, dtype: str) -> None:
    scale, point, attributes, wanted = CASES[case]
    graph = decoded((*DECODED, attributes), constants(dtype, scale, point), [])
    assert not graph.node
    np.testing.assert_array_equal(graph.constants["y"], wanted)
    assert graph.constants["y"].dtype == np.float32


BLOCKS = {"axis": 1, "block_size": 16}
READERS: dict[str, list[Any]] = {
    "Gemm": [("Gemm", "x d", "y", {"transB": 1})],
    "Transpose": [("Transpose", "d", "t", {"perm": [1, 0]}), ("MatMul", "x t", "y")],
    "Gather": [("Gather", "d i", "y")],
    "Conv": [
        ("Reshape", "x shape", "image"),
        ("Reshape", "d shape", "window"),
        ("Conv", "image window", "y"),
    ],
    "several": [("Add", "d b", "t"), ("Mul", "t d", "y")],
}


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16"])
@pytest.mark.parametrize("case", READERS)
def test_blocks_of_bytes_beside_any_operator(case: str, dtype: str) -> None:
    rng = np.random.default_rng(3)
    known = {
        "q": rng.integers(0, 100, (8, 32)).astype(dtype),
        "s": np.exp2(rng.integers(-9, -6, (8, 2))).astype(np.float32),
        "z": rng.integers(0, 9, (8, 2)).astype(dtype),
        "b": np.float32(2.5),
        "i": np.array([1, 7]),
        "shape": np.array([-1, 32, 1, 1]),
    }
    nodes = [("DequantizeLinear", "q s z", "d", BLOCKS), *READERS[case]]
    # Numbers whose sums are the same in any order.
    data = {"x": rng.integers(-8, 8, (3, 32)).astype(np.float32)}
    Net(nodes, data, known, opset=21).check()


@pytest.mark.parametrize("dtype", ["int8", "int4"])
def test_others_stay(dtype: str) -> None:
    kept = ["y"] if dtype == "int4" else []
    assert decoded(DECODED, constants(dtype, 1, 0), kept).node == [node_of(*DECODED)]


def test_scales_that_do_not_fit_stay() -> None:
    known = constants("int4", [1, 2, 3], [0, 0, 0])
    assert decoded(DECODED, known, []).node == [node_of(*DECODED)]


RNG_ZERO_SCALES = np.random.default_rng(12)
SCALES = np.array([0, 0.01, 0.03, 0], np.float32)
UNITS = len(SCALES)
IMAGE, ROWS = (1, 3, 4, 4), (5, 6)
CASES_ZERO_SCALES: dict[str, tuple[tuple[int, ...], Node, dict[str, int]]] = {
    "Conv": (IMAGE, ("Conv", "a r", "c", {}), {"axis": 0}),
    "Gemm": (ROWS, ("Gemm", "a r", "c", {"transB": 1}), {"axis": 0}),
    "MatMul": (ROWS, ("MatMul", "a r", "c", {}), {"axis": 1}),
    "ConvTranspose": (IMAGE, ("ConvTranspose", "a r", "c", {}), {"axis": 1}),
}
HAVE_BIAS = ("Conv", "Gemm")
BIASES: dict[str, Array] = {
    "no bias": np.zeros(0),
    "integers": RNG_ZERO_SCALES.integers(-500, 500, UNITS).astype(np.int32),
    "reals": RNG_ZERO_SCALES.normal(0, 1, UNITS).astype(np.float32),
}


def known(kind: str, shape: tuple[int, ...]) -> dict[str, Any]:
    extents: dict[str, tuple[int, ...]] = {
        "Gemm": (UNITS, shape[1]),
        "MatMul": (shape[1], UNITS),
        "Conv": (UNITS, 3, 3, 3),
        "ConvTranspose": (3, UNITS, 2, 2),
    }
    return {
        "s": np.float32(0.02),
        "z": np.uint8(9),
        "t": np.float32(0.05),
        "w": RNG_ZERO_SCALES.integers(-9, 9, extents[kind]).astype(np.int8),
        "ws": SCALES,
    }


@pytest.mark.parametrize(
    ("kind", "bias"),
    [
        (kind, bias)
        for kind in CASES_ZERO_SCALES
        for bias in BIASES
        if kind in HAVE_BIAS or bias == "no bias"
    ],
)
def test_such_channels_give_their_zero_point(kind: str, bias: str) -> None:
    shape, (op, operands, result, how), axis = CASES_ZERO_SCALES[kind]
    constants, nodes = known(kind, shape), list[Any]()
    if len(BIASES[bias]):
        constants["b"], operands = BIASES[bias], f"{operands} b"
        if bias == "integers":
            constants["bs"] = constants["s"] * SCALES
            nodes, operands = [("DequantizeLinear", "b bs", "d", {"axis": 0})], "a r d"
    nodes += [
        ("DequantizeLinear", "x s z", "a"),
        ("DequantizeLinear", "w ws", "r", axis),
        (op, operands, result, how),
        ("QuantizeLinear", "c t z", "y"),
    ]
    data = {"x": RNG_ZERO_SCALES.integers(0, 256, shape).astype(np.uint8)}
    model = Net(nodes, data, constants)
    model.check(in_float=kind == "ConvTranspose")


@pytest.mark.parametrize("scales", [SCALES, np.zeros((), np.float32)])
def test_so_do_those_of_quantized_operators(scales: Array) -> None:
    constants = {**known("Conv", IMAGE), "ws": scales, "wz": np.full(scales.shape, 3, np.int8)}
    data = {"x": RNG_ZERO_SCALES.integers(0, 256, IMAGE).astype(np.uint8)}
    nodes: list[Node] = [("QLinearConv", "x s z w ws wz t z", "y")]
    Net(nodes, data, constants).check()


REALS = RNG.normal(0, 0.2, (6, 4, 3, 3)).astype(np.float32)
BYTES = RNG.integers(-127, 128, (6, 4, 3, 3)).astype(np.int8)
ONE = np.array(0.01, np.float32)
EACH = RNG.uniform(0.001, 0.02, 6).astype(np.float32)
BIAS = floats(*RNG.normal(0, 1, 6))


def conv(*operands: Any, scale: float = 0.05, **more: Any) -> Case:
    return Case("Conv", ("x", *operands), {}, scale, **more)


CASES_PARAMETERS = {
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
ROWS_PARAMETERS = {
    "gemm": Case("Gemm", ("x", RNG.normal(0, 0.3, (64, 6)).astype(np.float32), BIAS), {}, 0.05),
    "gemm, turned": Case("Gemm", ("x", REALS.reshape(6, 36), BIAS), {"transB": 1}, 0.05),
}


@pytest.mark.parametrize("dtype", ["uint8", "int8"])
def test_convolutions(dtype: str) -> None:
    check(CASES_PARAMETERS, dtype, 0.0437)


def test_gemm() -> None:
    check({"gemm": ROWS_PARAMETERS["gemm"]}, "uint8", 0.0437, (4, 64))
    check({"gemm": ROWS_PARAMETERS["gemm, turned"]}, "int8", 0.0437, (8, 36))


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
        *pair("x scale point", "real"),
        ("DequantizeLinear", "kernel scales points", "weights", {"axis": axis}),
        ("ConvTranspose", "real weights bias", "sums", {"group": groups}),
        ("Relu", "sums", "relu"),
        *pair("relu scale point", "y"),
    ]
    Net(nodes, data, constants, ["y", "sums"]).check(in_float=True)
