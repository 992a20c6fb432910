from __future__ import annotations

import numpy as np
import pytest

from tests.frontends.onnx.converters.test_products import weights
from tests.support.onnx_graphs import Node, check_equal, model_of


@pytest.mark.parametrize("tail", ["", " zw", " zw bias", " _ bias"])
def test_products_of_bytes_with_float_results(tail: str) -> None:
    constants = {**weights("int8", True, "zero"), "sx": np.float32(0.02), "zx": np.uint8(3)}
    rng = np.random.default_rng(1)
    data = {"x": rng.integers(0, 256, (3, 5, 70)).astype(np.uint8)}
    nodes: list[Node] = [("MatMulIntegerToFloat", f"x w sx sw zx{tail}", "y", {})]
    check_equal(model_of(nodes, data, ["y"], constants), data)


@pytest.mark.parametrize("tail", ["", " zw", " zw bias", " _ bias"])
def test_products_of_floats_and_bytes(tail: str) -> None:
    constants = weights("uint8", False, "one" if "zw" in tail else "zero")
    data = {"x": np.random.default_rng(2).normal(0, 3, (3, 5, 70)).astype(np.float32)}
    nodes: list[Node] = [("DynamicQuantizeMatMul", f"x w sw{tail}", "y", {})]
    check_equal(model_of(nodes, data, ["y"], constants), data)


@pytest.mark.parametrize("scales", [(7,), (2, 1, 7), (1,)], ids=str)
@pytest.mark.parametrize("tail", ["", " bias"])
@pytest.mark.parametrize("operator", ["MatMulIntegerToFloat", "DynamicQuantizeMatMul"])
def test_scales_of_several_matrices(operator: str, tail: str, scales: tuple[int, ...]) -> None:
    """ONNX Runtime multiplies by scales of one axis after it has added the bias."""
    rng = np.random.default_rng(3)
    is_real = operator.startswith("Dynamic")
    constants = {
        "w": rng.integers(-128, 128, (2, 30, 7)).astype(np.int8),
        "sw": (0.001 + 0.01 * rng.random(scales)).astype(np.float32),
        "bias": rng.normal(0, 1, 7).astype(np.float32),
        "sx": np.float32(0.02),
    }
    reals, steps = rng.normal(0, 3, (2, 5, 30)), rng.integers(0, 256, (2, 5, 30))
    data = {"x": reals.astype(np.float32) if is_real else steps.astype(np.uint8)}
    operands = "x w sw _" if is_real else "x w sx sw _ _"
    nodes: list[Node] = [(operator, f"{operands}{tail}", "y", {})]
    check_equal(model_of(nodes, data, ["y"], constants), data)
