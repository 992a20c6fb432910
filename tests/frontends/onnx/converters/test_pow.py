from __future__ import annotations

import numpy as np
import pytest

from frontends.errors import UnsupportedOperatorError
from frontends.onnx import from_onnx
from tests.support.onnx_graphs import Node, check_equal, model_of


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


def test_bases_that_are_integers_are_refused() -> None:
    data = {"x": np.array([2, 3]), "n": np.array([2, 3])}
    model = model_of([("Pow", "x n", "y", {})], data, ["y:int64"], {})
    with pytest.raises(UnsupportedOperatorError, match="base must be a real number, got int64"):
        from_onnx(model)
