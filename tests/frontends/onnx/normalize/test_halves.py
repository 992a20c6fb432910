"""float16, in which ONNX Runtime computes a few operators, against ONNX Runtime."""

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from frontends.errors import UnsupportedOperatorError
from tests.support.onnx_graphs import Array, Net, Node, onnx, pair, refused

RNG = np.random.default_rng(4)
SHAPE = (1, 3, 8, 8)


def halves(*shape: int) -> Array:
    return RNG.normal(0, 1, shape).astype(np.float16)


def weights() -> dict[str, Array]:
    integers = RNG.integers(-127, 128, (4, 3, 3, 3)).astype(np.int8)
    return {"w": integers, "ws": RNG.uniform(0.01, 0.02, 4).astype(np.float16), "b": halves(4)}


CONV = [*pair("x s z", "a"), ("DequantizeLinear", "w ws", "r", {"axis": 0})]
GATES = {"GRU": 3, "LSTM": 4, "RNN": 1}

GRAPHS: dict[str, list[Node]] = {
    "pairs": pair("x s z", "y"),
    "two pairs": [*pair("x s z", "a"), *pair("a s z", "y")],
    "convolution": [*CONV, ("Conv", "a r", "c"), *pair("c s z", "y")],
    "convolution with a bias": [*CONV, ("Conv", "a r b", "c"), *pair("c s z", "y")],
    "element by element": [*pair("x s z", "a"), ("Add", "a a", "c"), *pair("c s z", "y")],
    "an activation": [*pair("x s z", "a"), ("Sigmoid", "a", "c"), *pair("c s z", "y")],
    "means": [("GlobalAveragePool", "x", "y")],
    # Nothing is rounded between two operators without a kernel.
    "a chain": [("Mul", "x x", "a"), ("Sub", "a b1", "c"), ("Tanh", "c", "y")],
    "a move alone": [("Mul", "x x", "a"), ("Flatten", "a", "c"), ("Sub", "c b1", "y")],
    "moves": [
        *(("Mul", "x x", "a"), ("Flatten", "a", "c"), ("Transpose", "c", "d")),
        ("Sub", "d b1", "y"),
    ],
    "a bound": [("Mul", "x x", "a"), ("Clip", "a _ b1", "y")],
    "its own cast": [
        *(("Cast", "x", "a", {"to": 1}), ("Mul", "a a", "c"), ("Cast", "c", "d", {"to": 10})),
        ("Sub", "d b1", "y"),
    ],
    "a pair with two readers": [
        *(*pair("x s z", "a"), ("Relu", "a", "c"), ("Transpose", "a", "d")),
        *(("Transpose", "c", "e"), ("Add", "d e", "y")),
    ],
}


@pytest.mark.parametrize("case", GRAPHS)
def test_equals_onnx_runtime(case: str) -> None:
    data = {"x": halves(*SHAPE)}
    known = {"s": np.float16(0.05), "z": np.uint8(120), "b1": np.float16(0.7), **weights()}
    used = {name for node in GRAPHS[case] for name in node[1].split()}
    known = {name: array for name, array in known.items() if name in used}
    Net(GRAPHS[case], data, known, opset=21).check(in_float=True)


def test_casts_of_a_file_round() -> None:
    nodes = [("Cast", "x", "a", {"to": 10}), ("Cast", "a", "c", {"to": 1}), ("Neg", "c", "y")]
    data = {"x": RNG.normal(0, 1, (3, 7)).astype(np.float32)}
    (result,) = Net(nodes, data).check()
    assert np.array_equal(result, -data["x"].astype(np.float16).astype(np.float32))
    nodes[1:] = [("GlobalAveragePool", "a", "c"), ("Cast", "c", "y", {"to": 1})]
    data = {"x": RNG.normal(0, 1, SHAPE).astype(np.float32)}
    Net(nodes, data).check()


def test_a_cast_that_gives_an_output_reads_what_others_read() -> None:
    nodes = [("Mul", "x x", "a"), ("Round", "a", "r"), ("Cast", "a", "y", {"to": 1})]
    data = {"x": halves(5, 9)}
    Net(nodes, data, {}, ["y", "r"]).check()


@pytest.mark.parametrize("bits", [4, 8])
@pytest.mark.parametrize("level", [0, 4])
def test_weights_of_a_few_bits(bits: int, level: int) -> None:
    known = {
        "w": RNG.integers(0, 256, (8, 2, 4 * bits)).astype(np.uint8),
        "s": RNG.uniform(0.01, 0.1, (8, 2)).astype(np.float16),
    }
    how: dict[str, Any] = {"N": 8, "K": 64, "bits": bits, "block_size": 32, "accuracy_level": level}
    data = {"x": halves(3, 64)}
    Net([("MatMulNBits", "x w s", "y", how)], data, known).check()


def test_weights_that_are_multiplied() -> None:
    known = {
        "w": RNG.integers(-127, 128, (16, 8)).astype(np.int8),
        "s": RNG.uniform(0.01, 0.02, 8).astype(np.float16),
    }
    nodes = [("DequantizeLinear", "w s", "r", {"axis": 1}), ("MatMul", "x r", "y")]
    data = {"x": halves(3, 16)}
    Net(nodes, data, known, opset=19).check()


@pytest.mark.parametrize("kind", GATES)
@pytest.mark.parametrize("is_quantized", [False, True])
def test_recurrent_layers(kind: str, *, is_quantized: bool) -> None:
    gates = GATES[kind] * 4
    known: dict[str, Any] = {"w": halves(1, gates, 6), "r": halves(1, gates, 4)}
    nodes: list[Node] = [(kind, "x w r", "y", {"hidden_size": 4})]
    if is_quantized:
        known |= {"w": RNG.integers(-99, 99, (1, gates, 6)).astype(np.int8), "s": np.float16(0.01)}
        nodes = [("DequantizeLinear", "w s", "d"), (kind, "x d r", "y", {"hidden_size": 4})]
    data = {"x": halves(5, 2, 6)}
    Net(nodes, data, known, opset=21).check()


def test_products_of_bytes() -> None:
    known = {
        "w": RNG.integers(-127, 128, (16, 8)).astype(np.int8),
        "s": np.float16(0.05),
        "ws": np.full(8, 0.02, np.float16),
        "wz": np.zeros(8, np.int8),
        "ys": np.float16(0.3),
        "z": np.uint8(110),
    }
    data = {"x": RNG.integers(0, 256, (3, 16)).astype(np.uint8)}
    nodes: list[Node] = [("QLinearMatMul", "x s z w ws wz ys z", "y")]
    Net(nodes, data, known, opset=21).check()


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
