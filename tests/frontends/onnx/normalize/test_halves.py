"""float16, in which ONNX Runtime computes a few operators, against ONNX Runtime."""

from typing import Any

import numpy as np
import pytest

from tests.support.onnx_graphs import Array, Net, Node, pair

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
