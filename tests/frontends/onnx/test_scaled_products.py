"""Gemm with ``alpha`` and ``beta``, against ONNX Runtime."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.support.onnx_graphs import (
    Array,
    Node,
    check_equal,
    compiled,
    model_of,
    on_runtime,
)


def parts(dtype: str, *, has_bias: bool) -> tuple[list[Node], dict[str, Array], dict[str, Array]]:
    """Return nodes before and at the product, data and constants."""
    rng = np.random.default_rng(4)
    data = {"x": rng.normal(0, 1, (5, 24)).astype(np.float32)}
    constants = {
        "w": rng.integers(-127, 128, (24, 10)).astype(np.int8),
        "sx": np.float32(0.03),
        "zx": np.array(5, dtype),
        "sw": np.float32(0.01),
        "zw": np.int8(0),
        "sy": np.float32(0.1),
        "b": rng.integers(-9999, 9999, 10).astype(np.int32),
        "sb": np.float32(0.03) * np.float32(0.01),
    }
    nodes: list[Node] = [
        ("QuantizeLinear", "x sx zx", "q", {}),
        ("DequantizeLinear", "q sx zx", "d", {}),
        ("DequantizeLinear", "w sw zw", "v", {}),
    ]
    if has_bias:
        nodes.append(("DequantizeLinear", "b sb", "c", {}))
    return nodes, data, {key: np.asarray(value) for key, value in constants.items()}


@pytest.mark.parametrize("is_quantized", [True, False])
@pytest.mark.parametrize("has_bias", [True, False])
@pytest.mark.parametrize(("alpha", "beta"), [(0.3, 1.0), (1.0, 2.0), (0.5, 2.0)])
@pytest.mark.parametrize("dtype", ["uint8", "int8"])
def test_products_of_bytes(
    dtype: str, alpha: float, beta: float, has_bias: bool, is_quantized: bool
) -> None:
    nodes, data, constants = parts(dtype, has_bias=has_bias)
    attributes = {"alpha": alpha, "beta": beta}
    nodes.append(("Gemm", "d v c" if has_bias else "d v", "y", attributes))
    if is_quantized:
        nodes.append(("QuantizeLinear", "y sy zx", "r", {}))
    results = [f"r:{dtype}"] if is_quantized else ["y"]
    net = model_of(nodes, data, results, constants)
    if has_bias and not is_quantized:
        check_near(net, data)
    else:
        check_equal(net, data, in_float=True)


@pytest.mark.parametrize("operands", ["x w", "x w b"])
def test_products_of_floats(operands: str) -> None:
    rng = np.random.default_rng(5)
    data = {"x": rng.normal(0, 1, (5, 24)).astype(np.float32)}
    shapes = {"w": (24, 10), "b": (10,)}
    constants = {key: rng.normal(0, 1, shape).astype("f") for key, shape in shapes.items()}
    nodes: list[Node] = [("Gemm", operands, "y", {"alpha": 0.3, "beta": 1.7})]
    check_near(model_of(nodes, data, ["y"], constants), data)


def check_near(net: Any, data: dict[str, Array]) -> None:
    """Compare floats: ONNX Runtime multiplies sums by ``alpha``, and the data are here."""
    ours, theirs = compiled(net, data, in_float=True)[0], on_runtime(net, data)[0]
    assert np.abs(ours - theirs).max() <= 2.0**-21 * np.abs(theirs).max()
