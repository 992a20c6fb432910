from __future__ import annotations

import numpy as np
import pytest

from frontends.errors import UnsupportedOperatorError
from frontends.onnx import from_onnx
from tests.support.onnx_graphs import compiled, model_of, on_runtime

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
