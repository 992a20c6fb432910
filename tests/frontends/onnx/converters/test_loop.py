"""Loops whose end the data tell, against ONNX Runtime."""

from typing import Any

import numpy as np
import pytest

from frontends.errors import UnsupportedOperatorError
from frontends.onnx import from_onnx
from tests.frontends.onnx.normalize.test_unrolling import BOOL, FLOAT, INT
from tests.support.errors import giving
from tests.support.onnx_graphs import Array, Net, Node, pair, subgraph

HALVES = subgraph(
    [
        ("Mul", "v half", "w"),
        ("Add", "w step", "v_out"),
        ("ReduceMax", "v_out", "top", {"keepdims": 0}),
        ("Greater", "top end", "goes_out"),
        ("Add", "n one", "n_out"),
    ],
    [("turn", INT, ()), ("goes", BOOL, ()), ("v", FLOAT, (3, 4)), ("n", INT, ())],
    [("goes_out", BOOL, ()), ("v_out", FLOAT, (3, 4)), ("n_out", INT, ())],
    half=np.float32(0.5),
    one=np.array(1),
)
"""Halves numbers until they are small; what it adds, and the end, are of the outer graph."""


def halving(operands: str, **given: Any) -> Net:
    data: dict[str, Array] = {
        "x": np.random.default_rng(0).normal(0, 5, (3, 4)).astype(np.float32),
        "step": np.full((3, 4), 0.01, np.float32),
    }
    constants = {"end": np.float32(0.1), "zero": np.array(0), "true": np.array(True)}
    for name, value in given.items():
        (data if name in ("m", "on") else constants)[name] = np.array(value)
    node: Node = ("Loop", operands, "y n", {"body": HALVES})
    return Net([node], data, constants)


test_equal_to_onnx_runtime = giving(
    lambda operands, given: halving(operands, **given).check()[1],
    ("_ true x zero", {}, 7),
    ("most true x zero", {"most": 10_000}, 7),
    ("m _ x zero", {"m": 3}, 3),
    ("m _ x zero", {"m": -2}, 0),
    ("_ on x zero", {"on": False}, 0),
)


def test_numbers_and_flags_of_one_axis() -> None:
    counts = subgraph(
        [
            ("Cast", "turn", "real", {"to": FLOAT}),
            ("Add", "v real", "v_out"),
            ("ReduceMax", "v_out", "top"),
            ("Less", "top end", "goes_out"),
        ],
        [("turn", INT, (1,)), ("goes", BOOL, (1,)), ("v", FLOAT, (4,))],
        [("goes_out", BOOL, (1,)), ("v_out", FLOAT, (4,))],
        end=np.float32(20),
    )
    data = {"x": np.arange(4, dtype=np.float32)}
    node = ("Loop", "_ true x", "y", {"body": counts})
    Net([node], data, {"true": np.array([True])}).check()


def test_groups_inside_are_integers() -> None:
    scales = {"s": np.float32(0.05), "z": np.uint8(128), "t": np.float32(0.002), "o": np.int8(0)}
    weights = np.random.default_rng(2).integers(-127, 128, (8, 8)).astype(np.int8)
    inner = subgraph(
        [
            *pair("v s z", "d"),
            ("DequantizeLinear", "w t o", "e"),
            ("MatMul", "d e", "p"),
            *pair("p s z", "v_out"),
            ("ReduceMax", "v_out", "top", {"keepdims": 0}),
            ("Greater", "top end", "goes_out"),
        ],
        [("turn", INT, ()), ("goes", BOOL, ()), ("v", FLOAT, (5, 8))],
        [("goes_out", BOOL, ()), ("v_out", FLOAT, (5, 8))],
        end=np.float32(0.4),
        w=weights,
        **scales,
    )
    data = {"x": np.random.default_rng(1).normal(0, 2, (5, 8)).astype(np.float32)}
    constants = {"true": np.array(True), "most": np.array(5000)}
    node = ("Loop", "most true x", "y", {"body": inner})
    net = Net([node], data, constants)
    net.check()
    assert "loop_body" in from_onnx(net.model)[0].script()


REFUSED: dict[str, tuple[Node, tuple[int, ...]]] = {
    "shapes or types change": (("Concat", "v v", "v_out", {"axis": 0}), (8,)),
    "in its body: Bernoulli: no conversion rule": (("Bernoulli", "v", "v_out"), (4,)),
}


@pytest.mark.parametrize("reason", REFUSED)
def test_bodies_that_are_refused(reason: str) -> None:
    node, shape = REFUSED[reason]
    ends = subgraph(
        [node, ("Not", "goes", "goes_out")],
        [("turn", INT, ()), ("goes", BOOL, ()), ("v", FLOAT, (4,))],
        [("goes_out", BOOL, ()), ("v_out", FLOAT, shape)],
    )
    loop: Node = ("Loop", "_ true x", "y", {"body": ends})
    net = Net([loop], {"x": np.zeros(4, np.float32)}, {"true": np.array(True)})
    net.check_refused(reason, UnsupportedOperatorError)
