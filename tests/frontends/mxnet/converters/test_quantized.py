"""MXNet's quantized operators, but for fused ones: layers, sums, concatenations, movement."""

from typing import Any

import numpy as np
import pytest

from frontends.errors import UnsupportedOperatorError
from qnn_ops.arithmetic.float_epilogue import fused_multiply_add_float32
from qnn_ops.errors import QnnError
from tests.support.errors import failing, fails
from tests.support.mxnet_graphs import computed, ends, graph_of, imported

PRODUCT_RNG = np.random.default_rng(1)
PRODUCT_NAMES = ["data", "weight", "bias", "low", "high", "wlow", "whigh", "blow", "bhigh"]
PRODUCT_RANGES = ends(low=0, high=2, wlow=-1, whigh=0.5, blow=-3, bhigh=3)


def bias_in_steps(bias: np.ndarray) -> np.ndarray:
    steps = np.float32(255.5) / np.float32(2) * (np.float32(127.5) / np.float32(1))
    return np.trunc(bias.astype(np.float32) * (steps * np.float32(3) / np.float32(127.5)))


@pytest.mark.parametrize("semantics", ["mxnet", "corrected"])
def test_a_convolution(semantics: str) -> None:
    data = PRODUCT_RNG.integers(0, 256, (1, 3, 4, 4)).astype(np.uint8)
    weight = PRODUCT_RNG.integers(-128, 128, (5, 3, 1, 1)).astype(np.int8)
    bias = PRODUCT_RNG.integers(-128, 128, 5).astype(np.int8)
    attrs = {"kernel": "(1, 1)", "num_filter": 5}
    graph = graph_of("_contrib_quantized_conv", attrs, PRODUCT_NAMES, outputs=3)
    constants = {"weight": weight, "bias": bias, **PRODUCT_RANGES}
    sums, low, high = computed(graph, {"data": data}, constants, semantics=semantics)
    plain = np.einsum("nchw,oc->nohw", data.astype(int), weight[:, :, 0, 0].astype(int))
    added = bias_in_steps(bias) if semantics == "corrected" else bias
    np.testing.assert_array_equal(sums, plain + added.reshape(-1, 1, 1))
    first, second = (127, 255) if semantics == "corrected" else (127, 127)
    expected = np.float32(2) / np.float32(first) * (np.float32(1) / np.float32(second))
    assert high == expected * np.float32(2**31) == -low


def test_a_dense_layer() -> None:
    data = PRODUCT_RNG.integers(0, 256, (2, 3, 4)).astype(np.uint8)
    weight = PRODUCT_RNG.integers(-128, 128, (5, 12)).astype(np.int8)
    bias = PRODUCT_RNG.integers(-128, 128, 5).astype(np.int8)
    names = PRODUCT_NAMES
    graph = graph_of("_contrib_quantized_fully_connected", {"num_hidden": 5}, names, outputs=3)
    constants = {"weight": weight, "bias": bias, **PRODUCT_RANGES}
    sums, low, high = computed(graph, {"data": data}, constants)
    plain = data.reshape(2, 12).astype(int) @ weight.T.astype(int)
    np.testing.assert_array_equal(sums, plain + bias_in_steps(bias))
    expected = np.float32(2) / np.float32(127) * (np.float32(1) / np.float32(255))
    assert high == expected * np.float32(2**31) == -low


def test_weights_must_be_int8_and_fit_the_data() -> None:
    names = ["data", "weight", "low", "high", "wlow", "whigh"]
    graph = graph_of("_contrib_quantized_fully_connected", {"no_bias": "True"}, names)
    data = {"data": np.zeros((2, 12), np.uint8)}
    with pytest.raises(QnnError, match="must be int8, got uint8"):
        imported(graph, data, {"weight": np.zeros((5, 12), np.uint8), **PRODUCT_RANGES})
    with pytest.raises(QnnError, match="rows of 12 values, the weight takes 11"):
        imported(graph, data, {"weight": np.zeros((5, 11), np.int8), **PRODUCT_RANGES})


def test_a_corrected_bias_that_is_known_at_run_time_only() -> None:
    data = PRODUCT_RNG.integers(0, 256, (1, 3, 4, 4)).astype(np.uint8)
    weight = PRODUCT_RNG.integers(-128, 128, (5, 3, 1, 1)).astype(np.int8)
    bias = np.array([-128, 127, 0, 1, -1], np.int8)
    graph = graph_of(
        "_contrib_quantized_conv", {"kernel": "(1, 1)", "num_filter": 5}, PRODUCT_NAMES
    )
    plain = np.einsum("nchw,oc->nohw", data.astype(int), weight[:, :, 0, 0].astype(int))
    for magnitude, added in (
        (3.0, bias_in_steps(bias).astype(np.int64)),
        (3e9, np.array([-(2**32), 2**32, 0, 2**32, -(2**32)])),  # beyond int32: saturates
    ):
        constants = {name: value for name, value in PRODUCT_RANGES.items() if name[0] != "b"}
        inputs: dict[str, np.ndarray] = {
            "data": data,
            "blow": np.array(-magnitude, np.float32),
            "bhigh": np.array(magnitude, np.float32),
        }
        given = {**constants, "weight": weight, "bias": bias}
        (sums,) = computed(graph, inputs, given, semantics="corrected")
        expected = np.clip(plain + added.reshape(-1, 1, 1), -(2**31), 2**31 - 1)
        np.testing.assert_array_equal(sums, expected)


@pytest.mark.parametrize("op", ["_contrib_quantized_conv", "_contrib_quantized_fully_connected"])
def test_sums_that_could_leave_int32_are_refused(op: str) -> None:
    depth = 2**31 // (255 * 127) + 1
    is_conv = op == "_contrib_quantized_conv"
    graph = graph_of(
        op,
        {"kernel": "(1, 1)", "no_bias": "True", "num_hidden": 1},
        PRODUCT_NAMES[:2] + PRODUCT_NAMES[3:7],
    )
    for extra, fits in ((-1, True), (0, False)):
        count = depth + extra
        shape = (1, count, 1, 1) if is_conv else (1, count)
        constants = {"weight": np.full(shape, 127, np.int8), **PRODUCT_RANGES}
        data = {"data": np.zeros(shape, np.uint8)}
        if fits:
            imported(graph, data, constants)
            continue
        with pytest.raises(
            QnnError, match=f"^operator 6 {op} 'node': .* can reach {count * 32385},"
        ):
            imported(graph, data, constants)


def test_a_known_bias_counts() -> None:
    data = {"data": np.zeros((1, 1, 1, 1), np.uint8)}
    graph = graph_of(
        "_contrib_quantized_conv", {"kernel": "(1, 1)", "num_filter": 1}, PRODUCT_NAMES
    )
    weight, bias = np.full((1, 1, 1, 1), 127, np.int8), np.array([127], np.int8)
    constants = {"weight": weight, "bias": bias, **PRODUCT_RANGES, "bhigh": np.float32(2e5)}
    fails("bias included, can reach", imported, graph, data, constants, semantics="corrected")
    imported(graph, data, constants)  # MXNet adds the bias as it is


NAMES = ["a", "b", "alow", "ahigh", "blow", "bhigh"]
RANGES = ends(alow=-3, ahigh=2, blow=0, bhigh=0.7)
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


RANGES_QUANTIZED_CONCAT = ends(alow=-1, ahigh=2, blow=0.5, bhigh=1)


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
    fails("needs 9 inputs, has 6", imported, graph, data, RANGES_QUANTIZED_CONCAT)


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
    **ends(low=-2, high=1),
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


test_what_is_not_supported = failing(
    lambda attrs: imported(
        graph_of("_contrib_quantized_batch_norm", attrs, NAMES_QUANTIZED_BATCH_NORM),
        {"data": np.zeros((1, 3, 2, 2), np.int8)},
        CONSTANTS,
    ),
    ({}, "without a calibrated range"),
    ({**CALIBRATED, "axis": 3}, "axis 3"),
    error=UnsupportedOperatorError,
)
