from __future__ import annotations

import numpy as np
import pytest

from tests.frontends.onnx.converters.test_matmul_integer import weights
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
