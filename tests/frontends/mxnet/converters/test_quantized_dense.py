"""Fused dense layers: what fixtures do not have, and errors."""

from typing import Any

import numpy as np
import pytest
from tvm import relax

from frontends.errors import UnsupportedOperatorError
from frontends.mxnet.graph import Graph
from legalize.qdq.group import operator_name
from qnn_ops.errors import QnnError
from tests.support.modules import calls_of
from tests.support.mxnet_graphs import chain_of, computed, ends, graph_of, imported

RNG = np.random.default_rng(0)
DATA = RNG.integers(0, 256, (3, 7)).astype(np.uint8)
WEIGHT = RNG.integers(-128, 128, (4, 7)).astype(np.int8)
RANGES = ends(low=0, high=2, wlow=-0.3, whigh=0.3)
NAMES = ("data", "weight", "low", "high", "wlow", "whigh")


def fused(
    attrs: dict[str, Any],
    nodes: list[Any] | None = None,
    dense: dict[str, Any] | None = None,
    outputs: int = 1,
    names: tuple[str, ...] = NAMES,
) -> Graph:
    main = {"num_hidden": 4, "no_bias": "True", **(dense or {})}
    subgraph = chain_of(("FullyConnected", main, ["d", "w"]), *(nodes or []))
    attrs = {"quantized": "True", **attrs}
    return graph_of("_sg_mkldnn_fully_connected", attrs, names, subgraph, outputs)


def results(graph: Graph, semantics: str = "mxnet") -> list[Any]:
    return computed(graph, {"data": DATA}, {"weight": WEIGHT, **RANGES}, semantics=semantics)


def real_sums() -> np.ndarray:
    steps = np.float32(255.5) / np.float32(2), np.float32(127.5) / np.float32(0.3)
    sums = DATA.astype(int) @ WEIGHT.T.astype(int)
    return sums.astype(np.float32) * (np.float32(1) / steps[0] / steps[1])


def test_real_numbers_as_the_result() -> None:
    (result,) = results(fused({"enable_float_output": "True"}))
    np.testing.assert_array_equal(result, real_sums())


def test_weights_next_to_nothing_beside_the_bias_take_fewer_steps() -> None:
    bias = np.array([127, -127, 64, 0], np.int8)
    # A step of the sums is half as large as one in which the bias takes 2^30.
    reach = np.float32(127.5 * 127.75 / 2**31)
    ranges = RANGES | ends(wlow=-reach, whigh=reach, blow=-1, bhigh=1)
    names = ("data", "weight", "bias", "low", "high", "wlow", "whigh", "blow", "bhigh")
    graph = fused({"enable_float_output": "True"}, dense={"no_bias": "False"}, names=names)
    (result,) = computed(graph, {"data": DATA}, {"weight": WEIGHT, "bias": bias, **ranges})
    halves = np.trunc(WEIGHT / 2 + np.copysign(0.5, WEIGHT)).astype(int)
    sums = DATA.astype(int) @ halves.T + np.round(bias * (2.0**30 / 127.5)).astype(int)
    # The sums, a step and their product are float32, each rounded.
    np.testing.assert_allclose(result, sums / 2.0**30, rtol=1e-6)
    # Whole numbers up to 7 · 255 · 64 beside a bias of 2^30.
    assert abs(result - bias / 127.5).max() < 1e-3


def test_units_with_weights_next_to_nothing_take_fewer_steps() -> None:
    weight = RNG.uniform(-1, 1, (4, 7)).astype(np.float32)
    weight[:3] *= 1e-9
    bias = np.array([1, -0.5, 0, 2], np.float32)
    names = ("data", "weight", "bias", "low", "high")
    attrs = {"enable_float_output": "True", "channel_wise_quantize": "True"}
    graph = fused(attrs, dense={"no_bias": "False"}, names=names)
    constants = {"weight": weight, "bias": bias, "low": RANGES["low"], "high": RANGES["high"]}
    (result,) = computed(graph, {"data": DATA}, constants)
    real = DATA.astype(np.float32) * np.float32(2 / 255.5) @ weight.T + bias
    # Weights of 1e-9 with data of up to 2 are below that.
    np.testing.assert_allclose(result[:, :3], real[:, :3], atol=1e-7)
    # Eight bits of weights, seven of them in a sum.
    np.testing.assert_allclose(result[:, 3], real[:, 3], atol=7 * 2 / 127 / 2)


def test_a_rectifier_takes_two_products() -> None:
    attrs = {"with_eltwise": "True", "min_calib_range": 0, "max_calib_range": 1}
    graph = fused(attrs, [("Activation", {"act_type": "relu"}, [])], outputs=3)
    result, low, high = results(graph)
    scaled = np.maximum(real_sums(), 0) * np.float32(255.5)
    np.testing.assert_array_equal(result, np.clip(np.rint(scaled), 0, 255).astype(np.uint8))
    assert (low, high) == (0, 1)


CLIP: list[Any] = [("clip", {"a_min": 0, "a_max": 0.5}, [])]


def test_a_clip_takes_two_products() -> None:
    # The calibrated range is wider than the clip, as where a concatenation aligns ranges.
    attrs = {"with_eltwise": "True", "min_calib_range": 0, "max_calib_range": 1}
    (result,) = results(fused(attrs, CLIP))
    real = np.clip(real_sums(), 0, np.float32(0.5))
    assert real.max() == 0.5
    np.testing.assert_array_equal(result, np.rint(real * np.float32(255.5)).astype(np.uint8))
    (floats,) = results(fused({**attrs, "enable_float_output": "True"}, CLIP))
    np.testing.assert_array_equal(floats, real)


@pytest.mark.parametrize("semantics", ["mxnet", "corrected"])
def test_a_clip_without_calibration(semantics: str) -> None:
    graph = fused({"with_eltwise": "True"}, [("clip", {"a_min": 0, "a_max": 0.4}, [])])
    (result,) = results(graph, semantics)
    # MXNet takes the end for one in steps of the sums, of which a unit has these.
    steps = np.float32(127.5) / np.float32(0.3) * (np.float32(255.5) / np.float32(2))
    highest = np.float32(0.4) * (steps if semantics == "corrected" else np.float32(1))
    sums = DATA.astype(int) @ WEIGHT.T.astype(int)
    assert sums.max() > highest
    np.testing.assert_array_equal(result, np.rint(np.clip(sums.astype(np.float32), 0, highest)))


LEAKY: list[Any] = [("LeakyReLU", {"act_type": "leaky", "slope": 0.25}, [])]
ABS: list[Any] = [("abs", {}, [])]
RELU: list[Any] = [("Activation", {"act_type": "relu"}, [])]


def activated(nodes: list[Any], value: np.ndarray) -> np.ndarray:
    return np.abs(value) if nodes is ABS else np.where(value > 0, value, value * np.float32(0.25))


@pytest.mark.parametrize(
    ("nodes", "semantics", "dtype"),
    [
        (LEAKY, "mxnet", "uint8"),
        (LEAKY, "corrected", "int8"),
        (ABS, "mxnet", "uint8"),
        (ABS, "corrected", "uint8"),
    ],
)
def test_a_leaky_relu_loses_its_sign_in_mxnet(nodes: list[Any], semantics: str, dtype: str) -> None:
    attrs = {"with_eltwise": "True", "min_calib_range": -1, "max_calib_range": 1}
    (result,) = results(fused(attrs, nodes), semantics)
    steps, info = np.float32(127.5 if dtype == "int8" else 255.5), np.iinfo(dtype)
    expected = np.rint(activated(nodes, real_sums()) * steps).clip(info.min, info.max)
    np.testing.assert_array_equal(result, expected.astype(dtype))
    assert result.dtype == dtype


@pytest.mark.parametrize("nodes", [LEAKY, ABS])
def test_activations_without_calibration(nodes: list[Any]) -> None:
    graph = fused({"with_eltwise": "True"}, nodes)
    (result,) = results(graph)
    sums = (DATA.astype(int) @ WEIGHT.T.astype(int)).astype(np.float32)
    np.testing.assert_array_equal(result, np.rint(activated(nodes, sums)))


@pytest.mark.parametrize(
    ("nodes", "name"), [(LEAKY, "where"), (ABS, "abs"), (RELU, "nn.relu"), (CLIP, "minimum")]
)
def test_an_activation_is_computed_once(nodes: list[Any], name: str) -> None:
    # Real numbers as the result: no other step takes a minimum.
    attrs = {"with_eltwise": "True", "enable_float_output": "True"}
    mod, _ = imported(fused(attrs, nodes), {"data": DATA}, {"weight": WEIGHT, **RANGES})
    # A result that is emitted again under its node's name leaves its first copy without a reader.
    mod = relax.transform.DeadCodeElimination()(mod)
    assert [*map(operator_name, calls_of(mod))].count(f"relax.{name}") == 1


def test_what_does_not_fit() -> None:
    data, constants = {"data": DATA}, {"weight": WEIGHT, **RANGES}
    with pytest.raises(QnnError, match=r"the weight must be \[num_hidden, K\]"):
        imported(fused({}, dense={"num_hidden": 5}), data, constants)
    floats = {**constants, "weight": WEIGHT.astype(np.float32)}
    with pytest.raises(QnnError, match="the weight must be int8 of a known range, got float32"):
        imported(fused({}), data, floats)
    graph = fused({}, [("Activation", {"act_type": "tanh"}, [])])
    with pytest.raises(UnsupportedOperatorError, match="fused activations tanh"):
        imported(graph, data, constants)
    graph = fused({}, [("clip", {"a_min": -1, "a_max": 1}, [])])
    with pytest.raises(UnsupportedOperatorError, match="a fused clip that does not begin at 0"):
        imported(graph, data, constants)


def test_a_scale_per_unit_needs_a_calibrated_range_or_floats() -> None:
    # MXNet 1.9.1 refuses it when it runs: "channel-wise quantization requires fuse requantize".
    names = ("data", "weight", "low", "high")
    constants = {"weight": WEIGHT.astype(np.float32), **RANGES}
    per_unit = {"channel_wise_quantize": "True"}
    graph = fused(per_unit, names=names)
    with pytest.raises(UnsupportedOperatorError, match="a scale per unit, but no calibrated range"):
        imported(graph, {"data": DATA}, constants)
    for others in ({"enable_float_output": "True"}, {"min_calib_range": 0, "max_calib_range": 1}):
        imported(fused({**per_unit, **others}, names=names), {"data": DATA}, constants)
