"""Operators that ONNX Runtime leaves in float, and others without groups: the same bytes."""

from typing import Any

import numpy as np
import pytest

from frontends.errors import UnsupportedOperatorError
from tests.support.onnx_graphs import Array, Net, Node, equal, near, one, refused

SHAPE = (2, 4, 6, 5)


def reals(values: Any) -> Array:
    return np.asarray(values, np.float32)


def ints(values: Any) -> Array:
    return np.asarray(values, np.int64)


BYTES = np.random.default_rng(3).integers(0, 256, SHAPE).astype(np.uint8)
FEW_BYTES = BYTES // 32  # so that many are equal
CHANNELS: dict[str, Any] = {"w": reals([0.5, 1.25, 0.75, 2]), "b": reals([0.1, -0.3, 0, 1])}
CONSTANTS = {"s": np.float32(0.031), "z": np.uint8(119), "t": np.float32(0.047), "u": np.uint8(131)}


def between_bytes(
    *nodes: Node, data: Array = BYTES, opset: int = 17, end: str = "y t u", **constants: Any
) -> Net:
    """Return a model of operators that turn x, which is dequantized, to y, which is quantized."""
    whole = [("DequantizeLinear", "q s z", "x"), *nodes, ("QuantizeLinear", end, "r")]
    return Net(whole, {"q": data}, {**CONSTANTS, **constants}, opset=opset)


ONE = [
    *("Cos", "LogSoftmax", "Selu", "Sign", "Sin", "Softplus", "Softsign"),
    *("ThresholdedRelu", "Reciprocal", "Trilu"),
]
REDUCTIONS = ["ReduceL1", "ReduceL2", "ReduceProd", "ReduceSumSquare"]
PLACES: dict[str, Any] = {"places": ints([[0, 1], [1, 3]])}
GRID: dict[str, Any] = {"grid": reals(np.linspace(-1, 1, 96).reshape(2, 6, 4, 2))}
NEWS: dict[str, Any] = {"places": ints([[[[2]]]]), "news": reals([[[[0.5]]]])}
SIDES: dict[str, Any] = {"v": np.uint8(140), "sides": ints([0, 0, 1, 2, 0, 0, 2, 1])}
test_bytes_are_the_same = equal(
    {
        **{op: between_bytes((op, "x", "y")) for op in ONE},
        **{op: between_bytes((op, "x", "y", {"axes": [-1], "keepdims": 0})) for op in REDUCTIONS},
        "Clip of operator set 10": between_bytes(
            ("Relu", "x", "h"), ("Clip", "h", "y", {"min": 0.0, "max": 2.0}), opset=10
        ),
        "Mish": between_bytes(("Mish", "x", "y"), opset=18),
        "CumSum": between_bytes(("CumSum", "x axis", "y", {"exclusive": 1}), axis=np.int64(1)),
        "Einsum": between_bytes(("Einsum", "x x", "y", {"equation": "abij,abkj->abik"})),
        "GatherND": between_bytes(("GatherND", "x places", "y"), **PLACES),
        "GridSample": between_bytes(("GridSample", "x grid", "y"), **GRID),
        "InstanceNormalization": between_bytes(("InstanceNormalization", "x w b", "y"), **CHANNELS),
        "GroupNormalization": between_bytes(
            ("GroupNormalization", "x w b", "y", {"num_groups": 2}), opset=21, **CHANNELS
        ),
        "LRN": between_bytes(("LRN", "x", "y", {"size": 3})),
        "Mean": between_bytes(("Mean", "x x k", "y"), k=np.float32(0.25)),
        "ScatterElements": between_bytes(
            ("ScatterElements", "x places news", "y", {"axis": 1}), **NEWS
        ),
        "Sum": between_bytes(("Sum", "x x k", "y"), k=np.float32(0.25)),
        **{
            f"TopK of axis {axis}, {largest}": between_bytes(
                ("TopK", "x k", "y i", {"axis": axis, "largest": largest}),
                data=FEW_BYTES,
                k=ints([3]),
            )
            for axis in (1, -1)
            for largest in (0, 1)
        },
    },
    in_float=True,
)
test_groups_are_integers = equal(
    {
        "a dropout": between_bytes(
            ("Dropout", "x rate", "d"), ("Sigmoid", "d", "y"), rate=np.float32(0.3)
        ),
        "padding with a number that is dequantized": between_bytes(
            ("DequantizeLinear", "v s z", "value"),
            ("Pad", "x sides value", "y"),
            end="y s z",
            **SIDES,
        ),
        "Resize of operator set 10": between_bytes(
            ("Resize", "x factors", "y", {"mode": "nearest"}),
            opset=10,
            end="y s z",
            factors=reals([1, 1, 2, 2]),
        ),
    }
)


@pytest.mark.parametrize("axis", [0, 2])
def test_places_of_the_lowest(axis: int) -> None:
    nodes: list[Node] = [
        ("DequantizeLinear", "q s z", "x"),
        ("ArgMin", "x", "y", {"axis": axis, "keepdims": 0}),
    ]
    Net(nodes, {"q": FEW_BYTES}, CONSTANTS).check()


def test_a_dropout_may_be_last() -> None:
    nodes: list[Node] = [
        ("DequantizeLinear", "q s z", "x"),
        ("Dropout", "x rate", "d"),
        ("Sigmoid", "d", "y"),
        ("Dropout", "y", "last"),
    ]
    Net(nodes, {"q": BYTES}, {**CONSTANTS, "rate": np.float32(0.3)}).check()


test_a_reduction_of_no_axes_is_refused_where_it_is_none = refused(
    (
        "ReduceL2: .*noop_with_empty_axes",
        one("ReduceL2", np.zeros(SHAPE, np.float32), noop_with_empty_axes=1, opset=18),
    ),
    error=UnsupportedOperatorError,
)


RNG = np.random.default_rng(3)
A, B = (RNG.integers(-9, 10, (4, 5)) for _ in range(2))
B += B == 0
FLAGS = [RNG.random((4, 5)) < 0.5 for _ in range(2)]
REALS = np.array([0.5, -0.0, np.nan, np.inf, -np.inf, -3.5], np.float32)
SHUFFLED = RNG.permutation(60).astype(np.float32).reshape(3, 4, 5)

test_every_bit_is_onnx_runtimes = equal(
    {
        **{op: one(op, A, B, opset=18) for op in ("Mod", "BitwiseAnd", "BitwiseOr", "BitwiseXor")},
        "BitwiseNot": one("BitwiseNot", A.astype(np.int8), opset=18),
        "Xor": one("Xor", *FLAGS),
        "remainders of real numbers": one(
            "Mod", REALS[[0, 1, 5]], np.array([0.3, 2, -2], np.float32), fmod=1
        ),
        "remainders with the divisors' signs": one("Mod", REALS, np.roll(REALS, 1), opset=28),
        "remainders of 0 with the divisors' signs": one(
            "Mod", np.array([-0.0, 0, 4, -4], np.float32), [[2.0], [-2.0]], opset=28
        ),
        **{f"Hardmax {opset}": one("Hardmax", SHUFFLED, opset=opset) for opset in (11, 17)},
    }
)


@pytest.mark.parametrize("operator", ["IsInf", "IsNaN"])
@pytest.mark.parametrize("before", ["Log", "Sqrt"])
def test_what_is_no_number_is_told_in_one_loop_with_what_makes_it(
    operator: str, before: str
) -> None:
    """TVM fuses these: a compiler that holds x = x to be true would give other choices."""
    nodes: list[Node] = [(before, "a", "b"), (operator, "b", "c"), ("Where", "c k b", "y")]
    Net(nodes, {"a": REALS}, {"k": np.float32(7)}).check_near(rtol=2.0**-22)


SMALL = RNG.uniform(-0.95, 0.95, 400).astype(np.float32)
ANGLES = ("Acos", "Asin", "Asinh", "Atan", "Atanh", "Cosh", "Sinh", "Tan")
# The C libraries' functions are others.
test_of_angles_and_hyperbolas = near(
    {**{op: one(op, SMALL) for op in ANGLES}, "Acosh": one("Acosh", np.abs(SMALL) + 1)},
    rtol=2.0**-20,
    atol=2.0**-22,
)


def test_operands_may_be_left_out_at_the_end() -> None:
    """Operators of TVM's own rules: a Gemm without bias, a Clip without ends."""
    data = {"a": RNG.integers(-4, 5, (3, 4)).astype(np.float32)}
    constants = {"w": RNG.integers(-4, 5, (4, 5)).astype(np.float32)}
    Net([("Gemm", "a w", "b"), ("Clip", "b", "y")], data, constants).check()
