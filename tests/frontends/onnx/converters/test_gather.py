from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.support.onnx_graphs import check_equal, compiled, model_of


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_places_from_both_ends(axis: int) -> None:
    rng = np.random.default_rng(1)
    data: dict[str, Any] = {"x": rng.normal(size=(5, 6, 7)).astype(np.float32)}
    data["i"] = rng.integers(-5, 5, (2, 3))
    check_equal(model_of([("Gather", "x i", "y", {"axis": axis})], data, ["y"], {}), data)


@pytest.mark.parametrize("operator", ["Gather", "GatherElements"])
def test_places_outside_are_the_nearest(operator: str) -> None:
    # ONNX Runtime refuses such a run; here nothing outside the tensor is read.
    data = {"x": np.arange(5, dtype=np.float32), "i": np.array([0, 0])}
    model = model_of([(operator, "x i", "y", {})], data, ["y"], {})
    data["i"] = np.array([-9, 9])
    np.testing.assert_array_equal(compiled(model, data)[0], [0, 4])
