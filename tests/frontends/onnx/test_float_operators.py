"""Operators that ONNX Runtime leaves in float, between bytes: the same bytes."""

from typing import Any

import numpy as np
import pytest

from frontends.errors import UnsupportedOperatorError
from tests.support.onnx_graphs import Array, Net, Node, equal, one, refused

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
