"""Operators that ONNX Runtime leaves in float, between bytes: the same bytes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from frontends.errors import UnsupportedOperatorError
from frontends.onnx import from_onnx
from tests.support.onnx_graphs import check_equal, model_of

Array = np.ndarray[Any, Any]

Node = tuple[str, str, str, dict[str, Any]]

SHAPE = (2, 4, 6, 5)


def reals(values: Any) -> Array:
    return np.asarray(values, np.float32)


def ints(values: Any) -> Array:
    return np.asarray(values, np.int64)


CHANNELS = {"w": reals([0.5, 1.25, 0.75, 2]), "b": reals([0.1, -0.3, 0, 1])}
CONSTANTS = {"s": np.float32(0.031), "z": np.uint8(119), "t": np.float32(0.047), "u": np.uint8(131)}

ONE = [
    *("Cos", "LogSoftmax", "Mish", "Selu", "Sign", "Sin", "Softplus", "Softsign"),
    *("ThresholdedRelu", "Reciprocal", "Trilu"),
]
REDUCTIONS = ["ReduceL1", "ReduceL2", "ReduceProd", "ReduceSumSquare"]
CASES: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    **{operator: ("x", {}, {}) for operator in ONE},
    **{operator: ("x", {"axes": [-1], "keepdims": 0}, {}) for operator in REDUCTIONS},
    "CumSum": ("x axis", {"exclusive": 1}, {"axis": np.int64(1)}),
    "Einsum": ("x x", {"equation": "abij,abkj->abik"}, {}),
    "GatherND": ("x places", {}, {"places": ints([[0, 1], [1, 3]])}),
    "GridSample": ("x grid", {}, {"grid": reals(np.linspace(-1, 1, 96).reshape(2, 6, 4, 2))}),
    "InstanceNormalization": ("x w b", {}, CHANNELS),
    "LRN": ("x", {"size": 3}, {}),
    "Mean": ("x x k", {}, {"k": np.float32(0.25)}),
    "ScatterElements": (
        "x places news",
        {"axis": 1},
        {"places": ints([[[[2]]]]), "news": reals([[[[0.5]]]])},
    ),
    "Sum": ("x x k", {}, {"k": np.float32(0.25)}),
}


def between_bytes(operator: str, operands: str, attributes: dict[str, Any], more: Any) -> Any:
    nodes: list[Node] = [
        ("DequantizeLinear", "q s z", "x", {}),
        (operator, operands, "y", attributes),
        ("QuantizeLinear", "y t u", "r", {}),
    ]
    opset = 18 if operator == "Mish" else 17
    return model_of(nodes, data(), ["r:uint8"], {**CONSTANTS, **more}, opset=opset)


def data() -> dict[str, Array]:
    return {"q": np.random.default_rng(3).integers(0, 256, SHAPE).astype(np.uint8)}


@pytest.mark.parametrize("operator", CASES)
def test_bytes_are_the_same(operator: str) -> None:
    check_equal(between_bytes(operator, *CASES[operator]), data(), in_float=True)


def test_group_normalization() -> None:
    nodes: list[Node] = [
        ("DequantizeLinear", "q s z", "x", {}),
        ("GroupNormalization", "x w b", "y", {"num_groups": 2}),
        ("QuantizeLinear", "y t u", "r", {}),
    ]
    check_equal(
        model_of(nodes, data(), ["r:uint8"], {**CONSTANTS, **CHANNELS}, opset=21),
        data(),
        in_float=True,
    )


@pytest.mark.parametrize("largest", [0, 1])
@pytest.mark.parametrize("axis", [1, -1])
def test_top_k_and_its_places(axis: int, largest: int) -> None:
    nodes: list[Node] = [
        ("DequantizeLinear", "q s z", "x", {}),
        ("TopK", "x k", "y i", {"axis": axis, "largest": largest}),
        ("QuantizeLinear", "y t u", "r", {}),
    ]
    model = model_of(nodes, data(), ["r:uint8", "i:int64"], {**CONSTANTS, "k": ints([3])})
    bytes_of_few = {"q": data()["q"] // 32}  # so that many are equal
    check_equal(model, bytes_of_few, in_float=True)


@pytest.mark.parametrize("axis", [0, 2])
def test_places_of_the_lowest(axis: int) -> None:
    nodes: list[Node] = [
        ("DequantizeLinear", "q s z", "x", {}),
        ("ArgMin", "x", "y", {"axis": axis, "keepdims": 0}),
    ]
    model = model_of(nodes, data(), ["y:int64"], CONSTANTS)
    check_equal(model, {"q": data()["q"] // 32})


def test_a_dropout_hides_no_group() -> None:
    nodes: list[Node] = [
        ("DequantizeLinear", "q s z", "x", {}),
        ("Dropout", "x rate", "d", {}),
        ("Sigmoid", "d", "y", {}),
        ("QuantizeLinear", "y t u", "r", {}),
        ("Dropout", "y", "last", {}),
    ]
    constants = {**CONSTANTS, "rate": np.float32(0.3)}
    check_equal(model_of(nodes[:-1], data(), ["r:uint8"], constants), data())
    check_equal(model_of([*nodes[:3], nodes[-1]], data(), ["last"], constants), data())


def test_padding_with_a_number_that_is_dequantized() -> None:
    nodes: list[Node] = [
        ("DequantizeLinear", "q s z", "x", {}),
        ("DequantizeLinear", "v s z", "value", {}),
        ("Pad", "x sides value", "y", {}),
        ("QuantizeLinear", "y s z", "r", {}),
    ]
    sides = ints([0, 0, 1, 2, 0, 0, 2, 1])
    constants = {**CONSTANTS, "v": np.uint8(140), "sides": sides}
    check_equal(model_of(nodes, data(), ["r:uint8"], constants), data())


def test_resize_of_operator_set_10() -> None:
    nodes: list[Node] = [
        ("DequantizeLinear", "q s z", "x", {}),
        ("Resize", "x factors", "y", {"mode": "nearest"}),
        ("QuantizeLinear", "y s z", "r", {}),
    ]
    constants = {**CONSTANTS, "factors": reals([1, 1, 2, 2])}
    check_equal(model_of(nodes, data(), ["r:uint8"], constants, opset=10), data())


def test_a_reduction_of_no_axes_is_refused_where_it_is_none() -> None:
    nodes: list[Node] = [("ReduceL2", "x", "y", {"noop_with_empty_axes": 1})]
    model = model_of(nodes, {"x": np.zeros(SHAPE, np.float32)}, ["y"], {}, opset=18)
    with pytest.raises(UnsupportedOperatorError, match="noop_with_empty_axes"):
        from_onnx(model)
