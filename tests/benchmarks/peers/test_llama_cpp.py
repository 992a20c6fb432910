import numpy as np
import pytest

from benchmarks.peers import llama_cpp

pytest.importorskip("llama_cpp", reason="llama-cpp-python is not installed")


@pytest.mark.parametrize(("bits", "step"), [(4, 1 / 8), (8, 1 / 127)])
@pytest.mark.parametrize("rows", [1, 5])
def test_products_are_near(bits: int, step: float, rows: int) -> None:
    """Weights are at most half a step from a quantized one, and data is rounded to 8 bits."""
    rng = np.random.default_rng(0)
    weights = rng.uniform(-1, 1, (64, 256)).astype(np.float32)
    data = rng.uniform(-1, 1, (rows, 256)).astype(np.float32)
    real = data @ weights.T
    bound = np.abs(data).sum(1, keepdims=True) * step + np.abs(weights).sum(1) / 127
    assert (np.abs(llama_cpp.product(weights, bits, data)() - real) < bound).all()
