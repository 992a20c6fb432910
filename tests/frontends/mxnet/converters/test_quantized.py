"""MXNet's quantized operators that are no layers: sums, concatenations, movement."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from frontends.errors import UnsupportedOperatorError
from qnn_ops.errors import QnnError
from qnn_ops.float_epilogue import fused_multiply_add_float32
from tests.support.mxnet_graphs import computed, graph_of, imported

NAMES = ["a", "b", "alow", "ahigh", "blow", "bhigh"]
RANGES = {
    "alow": np.float32(-3),
    "ahigh": np.float32(2),
    "blow": np.float32(0),
    "bhigh": np.float32(0.7),
}
RNG = np.random.default_rng(0)


def levels(dtype: Any) -> np.float32:
    return np.float32(127.5 if dtype == np.int8 else 255.5)


@pytest.mark.parametrize("dtypes", [("int8", "int8"), ("uint8", "uint8"), ("int8", "uint8")])
def test_a_calibrated_sum(dtypes: tuple[str, str]) -> None:
    a, b = (RNG.integers(0, 128, 4000).astype(dtype) for dtype in dtypes)
    attrs = {"min_calib_range": -2.5, "max_calib_range": 2}
    graph = graph_of("_contrib_quantized_elemwise_add", attrs, NAMES, outputs=3)
    result, low, high = computed(graph, {"a": a, "b": b}, RANGES)
    out = np.uint8 if dtypes == ("uint8", "uint8") else np.int8
    steps = levels(out) / np.float32(2.5)
    first = a.astype(np.float32) * (steps / (levels(a.dtype) / np.float32(3)))
    second = b.astype(np.float32) * (steps / (levels(b.dtype) / np.float32(0.7)))
    if dtypes[0] != dtypes[1]:
        second = np.clip(np.rint(second), -128, 127).astype(np.float32)
    info = np.iinfo(out)
    np.testing.assert_array_equal(
        result, np.clip(np.rint(first + second), info.min, info.max).astype(out)
    )
    assert (low, high) == (-2.5, 2)


def test_a_sum_without_calibration_has_32_bits() -> None:
    a, b = (RNG.integers(-128, 128, 1000).astype(np.int8) for _ in range(2))
    graph = graph_of("_contrib_quantized_elemwise_add", {}, NAMES, outputs=3)
    result, low, high = computed(graph, {"a": a, "b": b}, RANGES)
    whole = np.float32(3) + np.float32(0.7)
    divisor = whole * np.float32(127.5)
    terms = [
        values.astype(np.float32) * (np.float32(most) * np.float32(2**31) / divisor)
        for values, most in ((a, 3), (b, 0.7))
    ]
    np.testing.assert_array_equal(result, np.rint(terms[0] + terms[1]).astype(np.int64))
    assert high == whole == -low


RANGES_QUANTIZED_CONCAT = {
    "alow": np.float32(-1),
    "ahigh": np.float32(2),
    "blow": np.float32(0.5),
    "bhigh": np.float32(1),
}


@pytest.mark.parametrize("is_known", [True, False])
def test_tensors_of_two_dtypes_become_int8_of_the_covering_range(is_known: bool) -> None:
    a = np.array([[-128, 3, 127]], np.int8)
    b = np.array([[0, 1, 255]], np.uint8)
    graph = graph_of("_contrib_quantized_concat", {"num_args": 2, "dim": 1}, NAMES, outputs=3)
    data = {"a": a, "b": b}
    computed_ends = (
        {}
        if is_known
        else {key: value.reshape(1) for key, value in RANGES_QUANTIZED_CONCAT.items()}
    )
    result, low, high = computed(
        graph, {**data, **computed_ends}, RANGES_QUANTIZED_CONCAT if is_known else {}
    )
    factor = (np.float32(127.5) / np.float32(2)) / (np.float32(255.5) / np.float32(1))
    moved = np.rint(b.astype(np.float32) * np.float32(factor)).astype(np.int8)
    np.testing.assert_array_equal(result, np.concatenate([a, moved], axis=1))
    assert (low, high) == (-1, 2)


def test_the_number_of_inputs_is_checked() -> None:
    graph = graph_of("_contrib_quantized_concat", {"num_args": 3}, NAMES)
    data = {"a": np.zeros((1, 3), np.int8), "b": np.zeros((1, 3), np.int8)}
    with pytest.raises(QnnError, match="needs 9 inputs, has 6"):
        imported(graph, data, RANGES_QUANTIZED_CONCAT)


RANGE = {"low": np.float32(-3), "high": np.float32(2)}
NAMES_QUANTIZED_MOVEMENT = ["data", "low", "high"]


def test_flatten_keeps_the_first_axis_and_the_range() -> None:
    data = np.arange(12, dtype=np.int8).reshape(2, 3, 2)
    graph = graph_of("_contrib_quantized_flatten", {}, NAMES_QUANTIZED_MOVEMENT, outputs=3)
    result, low, high = computed(graph, {"data": data}, RANGE)
    np.testing.assert_array_equal(result, data.reshape(2, 6))
    assert (low, high) == (-3, 2)


def test_a_rectifier_keeps_dtype_and_range() -> None:
    data = np.array([-128, -1, 0, 1, 127], np.int8)
    graph = graph_of(
        "_contrib_quantized_act", {"act_type": "relu"}, NAMES_QUANTIZED_MOVEMENT, outputs=3
    )
    result, low, high = computed(graph, {"data": data}, RANGE)
    np.testing.assert_array_equal(result, np.maximum(data, 0))
    assert (low, high) == (-3, 2)


def test_other_activations_are_not_supported() -> None:
    graph = graph_of("_contrib_quantized_act", {"act_type": "tanh"}, NAMES_QUANTIZED_MOVEMENT)
    with pytest.raises(UnsupportedOperatorError, match="act_type tanh"):
        imported(graph, {"data": np.zeros(3, np.int8)}, RANGE)


def test_a_rectifier_of_what_mxnet_misreads_is_not_supported() -> None:
    graph = graph_of("_contrib_quantized_act", {"act_type": "relu"}, NAMES_QUANTIZED_MOVEMENT)
    with pytest.raises(UnsupportedOperatorError, match="data of uint8, of which MXNet takes"):
        imported(graph, {"data": np.zeros(3, np.uint8)}, RANGE)


NAMES_QUANTIZED_BATCH_NORM = ["data", "gamma", "beta", "mean", "variance", "low", "high"]
CONSTANTS: dict[str, Any] = {
    "gamma": RNG.normal(size=3).astype(np.float32),
    "beta": RNG.normal(size=3).astype(np.float32),
    "mean": RNG.normal(size=3).astype(np.float32),
    "variance": RNG.uniform(0.1, 2, 3).astype(np.float32),
    "low": np.float32(-2),
    "high": np.float32(1),
}
CALIBRATED = {"eps": 0.1, "min_calib_range": -3, "max_calib_range": 2}


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_by_hand(dtype: str) -> None:
    info = np.iinfo(dtype)
    data = RNG.integers(info.min, info.max + 1, (2, 3, 5, 5)).astype(dtype)
    graph = graph_of(
        "_contrib_quantized_batch_norm", CALIBRATED, NAMES_QUANTIZED_BATCH_NORM, outputs=3
    )
    result, low, high = computed(graph, {"data": data}, CONSTANTS)
    moved = data.astype(np.float32)
    if dtype == "uint8":
        moved = np.rint(moved * (np.float32(127.5) / np.float32(255.5)))
    inverse = (1 / np.sqrt(CONSTANTS["variance"].astype(np.float64) + 0.1)).astype(np.float32)
    scale = CONSTANTS["gamma"] * inverse
    weight = scale * np.float32(2) / np.float32(3) / np.sqrt(np.float32(1) + np.float32(0.1))
    # In MXNet's order: a product more or less rounds otherwise.
    centre = CONSTANTS["beta"] - CONSTANTS["mean"] * CONSTANTS["gamma"] * inverse
    bias = centre * np.float32(127.5) / np.float32(3)
    total = fused_multiply_add_float32(moved, weight.reshape(3, 1, 1), bias.reshape(3, 1, 1))
    np.testing.assert_array_equal(result, np.clip(np.rint(total), -128, 127).astype(np.int8))
    assert (low, high) == (-3, 2)


@pytest.mark.parametrize(
    ("attrs", "reason"),
    [({}, "without a calibrated range"), ({**CALIBRATED, "axis": 3}, "axis 3")],
)
def test_what_is_not_supported(attrs: dict[str, Any], reason: str) -> None:
    graph = graph_of("_contrib_quantized_batch_norm", attrs, NAMES_QUANTIZED_BATCH_NORM)
    with pytest.raises(UnsupportedOperatorError, match=reason):
        imported(graph, {"data": np.zeros((1, 3, 2, 2), np.int8)}, CONSTANTS)
