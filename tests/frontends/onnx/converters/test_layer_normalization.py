from __future__ import annotations

import numpy as np
import pytest

from frontends.errors import UnsupportedOperatorError
from frontends.onnx import from_onnx
from tests.support.onnx_graphs import compiled, model_of, on_runtime


@pytest.mark.parametrize(("operands", "axis"), [("x s b", -1), ("x s", 1)])
def test_near_onnx_runtime(operands: str, axis: int) -> None:
    rng = np.random.default_rng(1)
    shape = (2, 9, 32)
    width = shape[axis:] if axis > 0 else shape[-1:]
    data = {"x": rng.normal(0.5, 2, shape).astype(np.float32)}
    constants = {
        name: rng.normal(1, 0.3, width).astype(np.float32) for name in operands.split()[1:]
    }
    node = ("LayerNormalization", operands, "y", {"axis": axis, "epsilon": 1e-6})
    model = model_of([node], data, ["y"], constants)
    ours, theirs = compiled(model, data)[0], on_runtime(model, data)[0]
    # In units of the last place of what is added to.
    assert np.abs(ours - theirs).max() <= 2.0**-21 * np.abs(theirs).max()
    assert (ours == theirs).mean() > 0.7


def test_further_results_are_refused() -> None:
    data = {"x": np.zeros((2, 8), np.float32)}
    constants = {"s": np.ones(8, np.float32)}
    model = model_of([("LayerNormalization", "x s", "y mean", {})], data, ["y", "mean"], constants)
    with pytest.raises(UnsupportedOperatorError, match="mean and deviation"):
        from_onnx(model)
