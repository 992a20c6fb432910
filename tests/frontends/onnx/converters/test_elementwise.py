"""Operators of one element at a time: activations, powers, extremes, shifts of bits."""

from __future__ import annotations

import numpy as np
import pytest

from frontends.errors import UnsupportedOperatorError
from frontends.onnx import from_onnx
from tests.support.onnx_graphs import Node, check_equal, compiled, model_of, on_runtime


@pytest.mark.parametrize(
    "dtype", ["uint8", "uint16", "uint32", "uint64", "int8", "int64", "float32"]
)
def test_equals_onnx_runtime(dtype: str) -> None:
    data = {"x": np.array([0, 1, 2, 100, 127], dtype)}
    if not dtype.startswith("uint"):
        data["x"][3:] *= -1
    model = model_of([("Sign", "x", "y", {})], data, [f"y:{dtype}"], {})
    ours, theirs = compiled(model, data)[0], on_runtime(model, data)[0]
    np.testing.assert_array_equal(ours, theirs)
    assert ours.dtype == theirs.dtype


@pytest.mark.parametrize("is_known", [True, False])
@pytest.mark.parametrize("dtype", ["float32", "int32", "int64"])
def test_exponents_of_any_dtype(dtype: str, is_known: bool) -> None:
    data = {"x": np.array([0.5, 2, 3, 1.25], np.float32)}
    exponent = {"n": np.array([2, 3, 2, 1], dtype)}
    given, constants = (data, exponent) if is_known else (data | exponent, {})
    check_equal(model_of([("Pow", "x n", "y", {})], given, ["y"], constants), given)


@pytest.mark.parametrize("exponent", [3, 2, -1, 0.5, 4, 2.2])
def test_every_bit_is_onnx_runtimes(exponent: float) -> None:
    numbers = np.random.default_rng(1).normal(0, 3, 4096)
    data = {"x": np.append(numbers, [0, -0.0, np.inf, -np.inf, np.nan]).astype(np.float32)}
    constants = {"n": np.float32(exponent)}
    check_equal(model_of([("Pow", "x n", "y", {})], data, ["y"], constants), data)


def test_a_number_has_the_exponents_axes() -> None:
    data = {"x": np.array(1.5, np.float32)}
    nodes: list[Node] = [("Pow", f"x n{each}", f"y{each}", {}) for each in range(3)]
    constants = {f"n{each}": np.full((1,) * each, each + 1.5, np.float32) for each in range(2)}
    constants["n2"] = np.full((1, 1), 3, np.float32)
    check_equal(model_of(nodes, data, ["y0", "y1", "y2"], constants), data)


def test_bases_may_be_integers() -> None:
    data = {"x": np.array([2, -3, 0]), "n": np.array([2, 3, 5])}
    check_equal(model_of([("Pow", "x n", "y", {})], data, ["y:int64"], {}), data)


def test_bits_of_reals_are_those_of_integers() -> None:
    data = {"x": np.array(SPECIAL, np.float32)}
    model = model_of([("BitCast", "x", "y", {"to": 6})], data, ["y:int32"], {}, 26)
    check_equal(model, data)


SPECIAL = (0.0, -0.0, 1e-30, -1e-30, 88.0, -88.0, 3e38, -3e38, np.inf, -np.inf)


@pytest.mark.parametrize("alpha", [1.0, 0.3, 2.5])
def test_within_the_last_bits_of_onnx_runtime(alpha: float) -> None:
    """Of the exponential, from which 1 is subtracted."""
    numbers = np.random.default_rng(1).normal(0, 3, 246).astype(np.float32)
    data = {"x": np.concatenate([numbers, np.asarray(SPECIAL, np.float32)]).reshape(8, 32)}
    model = model_of([("Celu", "x", "y", {"alpha": alpha})], data, ["y"], {})
    ours, theirs = compiled(model, data)[0], on_runtime(model, data)[0]
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=alpha * 2**-22)
    np.testing.assert_array_equal(ours[data["x"] >= 0], theirs[data["x"] >= 0])


def test_no_alpha_of_0() -> None:
    data = {"x": np.ones((2, 3), np.float32)}
    model = model_of([("Celu", "x", "y", {"alpha": 1.0})], data, ["y"], {})
    model.graph.node[0].attribute[0].f = 0.0
    with pytest.raises(UnsupportedOperatorError, match="alpha"):
        from_onnx(model)


@pytest.mark.parametrize("approximate", ["none", "tanh"])
def test_near_onnx_runtime(approximate: str) -> None:
    data = {"x": np.random.default_rng(1).normal(0, 2, (7, 33)).astype(np.float32)}
    model = model_of([("Gelu", "x", "y", {"approximate": approximate})], data, ["y"], {}, opset=20)
    ours, theirs = compiled(model, data)[0], on_runtime(model, data)[0]
    np.testing.assert_allclose(ours, theirs, rtol=1e-6, atol=1e-7)
