"""Fused convolutions: attributes that fixtures do not have, the semantics, and errors."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from frontends.errors import UnsupportedOperatorError
from frontends.mxnet.graph import Graph
from qnn_ops.errors import QnnError
from tests.support.errors import failing
from tests.support.mxnet_graphs import chain_of, computed, graph_of, imported

RNG = np.random.default_rng(0)
DATA = RNG.integers(-128, 128, (1, 4, 3, 3)).astype(np.int8)
WEIGHT = RNG.normal(size=(6, 4, 1, 1)).astype(np.float32)
CONV = {"kernel": "(1, 1)", "num_filter": 6, "no_bias": "True"}
CALIBRATED = {"min_calib_range": -300, "max_calib_range": 200}
# A step of the data is one.
RANGE = {"low": np.float32(-127.5), "high": np.float32(127.5)}
RELU: list[Any] = [("Activation", {"act_type": "relu"}, [])]
LEAKY: list[Any] = [("LeakyReLU", {"act_type": "leaky", "slope": 0.5}, [])]


def fused(
    attrs: dict[str, Any],
    nodes: Sequence[tuple[str, dict[str, Any], list[str]]] = (),
    conv: dict[str, Any] | None = None,
    names: Sequence[str] = ("data", "weight", "low", "high"),
    outputs: int = 1,
) -> Graph:
    subgraph = chain_of(("Convolution", {**CONV, **(conv or {})}, ["d", "w"]), *nodes)
    attrs = {"quantized": "true", **attrs}
    return graph_of("_sg_mkldnn_conv", attrs, names, subgraph, outputs)


def results(graph: Graph, semantics: str = "mxnet") -> list[Any]:
    return computed(graph, {"data": DATA}, {"weight": WEIGHT, **RANGE}, semantics=semantics)


def sums(weight: np.ndarray, steps: np.ndarray) -> np.ndarray:
    """Sums of the data and the weight in these steps, per channel."""
    scaled = np.clip(np.rint(weight[:, :, 0, 0] * np.reshape(steps, (-1, 1))), -128, 127)
    return np.einsum("nchw,oc->nohw", DATA.astype(np.int64), scaled.astype(np.int64))


def channel_steps() -> np.ndarray:
    largest = np.abs(WEIGHT).max(axis=(1, 2, 3))
    return (np.float32(127.5) / largest).astype(np.float32)


def test_a_calibrated_convolution_by_hand() -> None:
    graph = fused(CALIBRATED, outputs=3)
    result, low, high = results(graph)
    steps = channel_steps()
    factors = (np.float32(127.5) / np.float32(300) / np.float32(1) / steps).reshape(-1, 1, 1)
    expected = np.clip(np.rint(sums(WEIGHT, steps).astype(np.float32) * factors), -128, 127)
    np.testing.assert_array_equal(result, expected.astype(np.int8))
    assert (low, high) == (-300, 200)


def test_the_dtype_follows_the_activation_not_the_range() -> None:
    # Both spellings of the attribute; the calibrated range has a sign.
    for name in ("with_act", "with_relu"):
        graph = fused({**CALIBRATED, name: "true"}, RELU)
        mod, _ = imported(graph, {"data": DATA}, {"weight": WEIGHT, **RANGE})
        assert mod["main"].ret_ty.dtype == "uint8"


def test_a_leaky_relu_keeps_the_sign() -> None:
    graph = fused({**CALIBRATED, "with_act": "true"}, LEAKY)
    (result,) = results(graph)
    steps = channel_steps()
    factors = (np.float32(127.5) / np.float32(300) / steps).reshape(-1, 1, 1)
    real = sums(WEIGHT, steps).astype(np.float32) * factors
    bent = np.where(real > 0, real, real * np.float32(0.5))
    np.testing.assert_array_equal(result, np.clip(np.rint(bent), -128, 127).astype(np.int8))


def test_a_leaky_relu_without_calibration() -> None:
    (result,) = results(fused({"with_act": "true"}, LEAKY))
    expected = sums(WEIGHT, np.float32(127.5) / np.abs(WEIGHT).max())
    np.testing.assert_array_equal(result, np.rint(np.where(expected > 0, expected, expected / 2)))


@pytest.mark.parametrize("semantics", ["mxnet", "corrected"])
def test_a_clip_without_calibration(semantics: str) -> None:
    clip: list[Any] = [("clip", {"a_min": 0, "a_max": 6}, [])]
    graph = fused({"with_act": "true"}, clip)
    (result,) = results(graph, semantics)
    steps = np.float32(127.5) / np.abs(WEIGHT).max()
    expected = sums(WEIGHT, steps)
    if semantics == "corrected":
        expected = np.rint(np.clip(expected, 0, np.float32(6) * steps))
    np.testing.assert_array_equal(result, expected)


@pytest.mark.parametrize("semantics", ["mxnet", "corrected"])
def test_a_clip_in_a_range_that_a_concatenation_widened(semantics: str) -> None:
    clip: list[Any] = [("clip", {"a_min": 0, "a_max": 100}, [])]
    graph = fused({**CALIBRATED, "with_act": "true"}, clip)
    (result,) = results(graph, semantics)
    steps, out_steps = channel_steps(), np.float32(255.5) / np.float32(300)
    real = sums(WEIGHT, steps).astype(np.float32) * (out_steps / steps).reshape(-1, 1, 1)
    highest = 255 if semantics == "mxnet" else 85
    assert real.max() > 100
    np.testing.assert_array_equal(result, np.clip(np.rint(real), 0, highest).astype(np.uint8))


@pytest.mark.parametrize("semantics", ["mxnet", "corrected"])
@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_a_sum_has_the_dtype_of_its_other_term(semantics: str, dtype: str) -> None:
    add: list[Any] = [("elemwise_add", {}, ["other"])]
    names = ["data", "weight", "other", "low", "high", "other_low", "other_high"]
    graph = fused({**CALIBRATED, "with_sum": "true"}, add, names=names)
    other = RNG.integers(0, 128, (1, 6, 3, 3)).astype(dtype)
    ends = {"other_low": np.float32(0), "other_high": np.float32(100)}
    data = {"data": DATA, "other": other}
    (result,) = computed(graph, data, {"weight": WEIGHT, **RANGE, **ends}, semantics=semantics)
    steps = channel_steps()
    out_steps = np.float32(127.5) / np.float32(300)
    real = sums(WEIGHT, steps).astype(np.float32) * (out_steps / steps).reshape(-1, 1, 1)
    levels = np.float32(127.5 if dtype == "int8" else 255.5)
    factor = np.float32(out_steps / (levels / np.float32(100)))
    total = np.rint((real.astype(np.float64) + other * np.float64(factor)).astype(np.float32))
    if semantics == "mxnet" and dtype == "uint8":
        expected = np.clip(total, 0, 255).astype(np.uint8).view(np.int8)
        assert (expected < 0).any()
    else:
        expected = np.clip(total, -128, 127).astype(np.int8)
    np.testing.assert_array_equal(result, expected)


def test_one_that_was_left_in_floats_is_its_operators() -> None:
    graph = fused({"quantized": "false", "with_act": "true"}, RELU, names=["data", "weight"])
    data = {"data": DATA.astype(np.float32)}
    (result,) = computed(graph, data, {"weight": np.sign(WEIGHT)})
    expected = np.einsum("nchw,oc->nohw", data["data"], np.sign(WEIGHT)[:, :, 0, 0])
    np.testing.assert_array_equal(result, np.maximum(expected, 0))


test_what_does_not_fit = failing(
    lambda attrs, nodes, conv: imported(
        fused({**CALIBRATED, **attrs}, nodes, conv),
        {"data": DATA},
        {"weight": WEIGHT, **RANGE, "other": np.zeros((1, 6, 3, 3), np.int8)},
    ),
    ({"with_act": "true"}, [], {}, "do not agree with the subgraph"),
    ({}, [("elemwise_add", {}, ["other"])], {}, "with_sum does not agree"),
    ({}, [], {"kernel": "(3, 3)"}, r"the weight's window is \(1, 1\), attribute kernel"),
    ({}, [], {"num_filter": 7}, r"the weight must be \[7, I, H, W\]"),
    ({}, [], {"num_group": 4}, "groups must divide"),
)


test_what_is_not_supported = failing(
    lambda nodes: imported(
        fused({**CALIBRATED, "with_act": "true"}, nodes),
        {"data": DATA},
        {"weight": WEIGHT, **RANGE},
    ),
    ([("Activation", {"act_type": "tanh"}, [])], "fused activation tanh"),
    ([("clip", {"a_min": -1, "a_max": 1}, [])], "a fused clip that does not begin at 0"),
    ([("Pooling", {}, [])], "Pooling in its subgraph"),
    error=UnsupportedOperatorError,
)


@pytest.mark.parametrize(
    ("conv", "space"),
    [
        ({"kernel": "(3, 3, 3)"}, (3, 3, 3)),
        ({"kernel": "(3,)"}, (3,)),
        ({"layout": "NHWC"}, (1, 1)),
    ],
)
def test_only_images_with_channels_first(conv: dict[str, Any], space: tuple[int, ...]) -> None:
    data = {"data": np.zeros((1, 4, *space), np.int8)}
    constants = {"weight": np.ones((6, 4, *space), np.float32), **RANGE}
    with pytest.raises(UnsupportedOperatorError, match="only images of layout NCHW"):
        imported(fused(CALIBRATED, conv=conv), data, constants)


def test_weights_must_be_constant() -> None:
    with pytest.raises(QnnError, match="'weight' must be constant"):
        imported(fused(CALIBRATED), {"data": DATA, "weight": WEIGHT}, RANGE)
