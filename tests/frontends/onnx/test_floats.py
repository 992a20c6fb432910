"""The float32 operators between quantized ones, as near to ONNX Runtime as documented."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.support.onnx_graphs import check_equal, compiled, model_of, on_runtime, steps_apart

Array = np.ndarray[Any, Any]


def normal(*shape: int, seed: int = 0, scale: float = 1.0) -> Array:
    return np.random.default_rng(seed).normal(0, scale, shape).astype(np.float32)


def both(model: Any, data: dict[str, Array]) -> tuple[Array, Array]:
    return compiled(model, data)[0], on_runtime(model, data)[0]


@pytest.mark.parametrize("operator", ["Add", "Sub", "Mul", "Div"])
def test_arithmetic_is_the_same(operator: str) -> None:
    data = {"a": normal(7, 33, seed=1), "b": normal(7, 33, seed=2)}
    check_equal(model_of([(operator, "a b", "y", {})], data, ["y"], {}), data)


@pytest.mark.parametrize("operator", ["Sqrt", "Erf"])
def test_functions_that_are_the_same(operator: str) -> None:
    data = {"a": np.abs(normal(7, 333))}
    check_equal(model_of([(operator, "a", "y", {})], data, ["y"], {}), data)


@pytest.mark.parametrize("products", [64, 512, 3000])
def test_sums_of_products(products: int) -> None:
    data = {"a": normal(16, products, seed=1), "b": normal(products, 24, seed=2)}
    ours, theirs = both(model_of([("MatMul", "a b", "y", {})], data, ["y"], {}), data)
    # Both sum in an order of their own, so no more can be said than that each sum of float32
    # is within its roundings of the exact one; 2^-21 is what was measured.
    sizes = np.abs(data["a"]) @ np.abs(data["b"])
    assert np.all(np.abs(ours - theirs) <= 2.0**-21 * sizes)


def test_tanh() -> None:
    data = {"a": normal(4096, scale=3)}
    ours, theirs = both(model_of([("Tanh", "a", "y", {})], data, ["y"], {}), data)
    # ONNX Runtime's is another polynomial.
    assert np.abs(ours - theirs).max() <= 2.0**-21


@pytest.mark.parametrize("scale", [1.0, 3.0, 30.0])
def test_softmax(scale: float) -> None:
    data = {"a": normal(64, 77, scale=scale)}
    ours, theirs = both(model_of([("Softmax", "a", "y", {})], data, ["y"], {}), data)
    # ONNX Runtime's exponential is another polynomial, and it has no numbers below the normal ones.
    is_normal = theirs >= np.finfo(np.float32).smallest_normal
    assert steps_apart(ours[is_normal], theirs[is_normal]) <= 12
    assert np.abs(ours - theirs)[~is_normal].max(initial=0) < 2.0**-125
