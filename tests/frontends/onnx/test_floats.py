"""The float32 operators between quantized ones, as near to ONNX Runtime as documented."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.support.onnx_graphs import Node, check_equal, compiled, model_of, on_runtime
from tests.support.x86 import host_has

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


@pytest.mark.parametrize("shape", [(3,), (20, 16), (20, 77), (6, 20, 130)])
def test_softmaxes_are_the_same(shape: tuple[int, ...]) -> None:
    rows = normal(*shape, scale=6)
    if len(shape) > 1:
        rows[0], rows[2], rows[3], rows[5, 0] = -np.inf, rows[2] * 30, rows[3] * 1e37, -np.inf
        rows[1, 0], rows[4, 0] = np.nan, np.inf
    data = {"a": rows}
    nodes: list[Node] = [(op, "a", op, {}) for op in ("Softmax", "LogSoftmax")]
    if len(shape) > 2:
        nodes.append(("Softmax", "a", "middle", {"axis": 1}))
    # ONNX Runtime has other orders of sums on processors without AVX512, which differ then.
    outputs = [node[2] for node in nodes]
    if host_has("avx512f"):
        check_equal(model_of(nodes, data, outputs, {}), data)
        return
    model = model_of(nodes, data, outputs, {})
    for ours, theirs in zip(compiled(model, data), on_runtime(model, data), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=2.0**-20, atol=2.0**-125)
