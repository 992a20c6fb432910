"""_contrib_quantized_conv and _contrib_quantized_fully_connected, which give sums of 32 bits."""

from __future__ import annotations

import numpy as np
import pytest

from qnn_ops.errors import QnnError
from tests.support.mxnet_graphs import computed, graph_of, imported

RNG = np.random.default_rng(1)
NAMES = ["data", "weight", "bias", "low", "high", "wlow", "whigh", "blow", "bhigh"]
RANGES = {
    "low": np.float32(0),
    "high": np.float32(2),
    "wlow": np.float32(-1),
    "whigh": np.float32(0.5),
    "blow": np.float32(-3),
    "bhigh": np.float32(3),
}


def bias_in_steps(bias: np.ndarray) -> np.ndarray:
    steps = np.float32(255.5) / np.float32(2) * (np.float32(127.5) / np.float32(1))
    return np.trunc(bias.astype(np.float32) * (steps * np.float32(3) / np.float32(127.5)))


@pytest.mark.parametrize("semantics", ["mxnet", "corrected"])
def test_a_convolution(semantics: str) -> None:
    data = RNG.integers(0, 256, (1, 3, 4, 4)).astype(np.uint8)
    weight = RNG.integers(-128, 128, (5, 3, 1, 1)).astype(np.int8)
    bias = RNG.integers(-128, 128, 5).astype(np.int8)
    attrs = {"kernel": "(1, 1)", "num_filter": 5}
    graph = graph_of("_contrib_quantized_conv", attrs, NAMES, outputs=3)
    constants = {"weight": weight, "bias": bias, **RANGES}
    sums, low, high = computed(graph, {"data": data}, constants, semantics=semantics)
    plain = np.einsum("nchw,oc->nohw", data.astype(int), weight[:, :, 0, 0].astype(int))
    added = bias_in_steps(bias) if semantics == "corrected" else bias
    np.testing.assert_array_equal(sums, plain + added.reshape(-1, 1, 1))
    first, second = (127, 255) if semantics == "corrected" else (127, 127)
    expected = np.float32(2) / np.float32(first) * (np.float32(1) / np.float32(second))
    assert high == expected * np.float32(2**31) == -low


def test_a_dense_layer() -> None:
    data = RNG.integers(0, 256, (2, 3, 4)).astype(np.uint8)
    weight = RNG.integers(-128, 128, (5, 12)).astype(np.int8)
    bias = RNG.integers(-128, 128, 5).astype(np.int8)
    names = NAMES
    graph = graph_of("_contrib_quantized_fully_connected", {"num_hidden": 5}, names, outputs=3)
    constants = {"weight": weight, "bias": bias, **RANGES}
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
        imported(graph, data, {"weight": np.zeros((5, 12), np.uint8), **RANGES})
    with pytest.raises(QnnError, match="rows of 12 values, the weight takes 11"):
        imported(graph, data, {"weight": np.zeros((5, 11), np.int8), **RANGES})


def test_a_corrected_bias_that_is_known_at_run_time_only() -> None:
    data = RNG.integers(0, 256, (1, 3, 4, 4)).astype(np.uint8)
    weight = RNG.integers(-128, 128, (5, 3, 1, 1)).astype(np.int8)
    bias = np.array([-128, 127, 0, 1, -1], np.int8)
    graph = graph_of("_contrib_quantized_conv", {"kernel": "(1, 1)", "num_filter": 5}, NAMES)
    plain = np.einsum("nchw,oc->nohw", data.astype(int), weight[:, :, 0, 0].astype(int))
    for magnitude, added in (
        (3.0, bias_in_steps(bias).astype(np.int64)),
        (3e9, np.array([-(2**32), 2**32, 0, 2**32, -(2**32)])),  # beyond int32: saturates
    ):
        constants = {name: value for name, value in RANGES.items() if name[0] != "b"}
        ends = {"blow": np.array(-magnitude, np.float32), "bhigh": np.array(magnitude, np.float32)}
        inputs: dict[str, np.ndarray] = {"data": data, **ends}
        given = {**constants, "weight": weight, "bias": bias}
        (sums,) = computed(graph, inputs, given, semantics="corrected")
        expected = np.clip(plain + added.reshape(-1, 1, 1), -(2**31), 2**31 - 1)
        np.testing.assert_array_equal(sums, expected)


@pytest.mark.parametrize("op", ["_contrib_quantized_conv", "_contrib_quantized_fully_connected"])
def test_sums_that_could_leave_int32_are_refused(op: str) -> None:
    depth = 2**31 // (255 * 127) + 1
    is_conv = op == "_contrib_quantized_conv"
    graph = graph_of(
        op, {"kernel": "(1, 1)", "no_bias": "True", "num_hidden": 1}, NAMES[:2] + NAMES[3:7]
    )
    for extra, fits in ((-1, True), (0, False)):
        count = depth + extra
        shape = (1, count, 1, 1) if is_conv else (1, count)
        constants = {"weight": np.full(shape, 127, np.int8), **RANGES}
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
    graph = graph_of("_contrib_quantized_conv", {"kernel": "(1, 1)", "num_filter": 1}, NAMES)
    weight, bias = np.full((1, 1, 1, 1), 127, np.int8), np.array([127], np.int8)
    constants = {"weight": weight, "bias": bias, **RANGES, "bhigh": np.float32(2e5)}
    with pytest.raises(QnnError, match="bias included, can reach"):
        imported(graph, data, constants, semantics="corrected")
    imported(graph, data, constants)  # MXNet adds the bias as it is
