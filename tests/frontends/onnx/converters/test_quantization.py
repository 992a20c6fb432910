"""QuantizeLinear, DequantizeLinear and DynamicQuantizeLinear."""

import numpy as np
import pytest

from tests.support.onnx_graphs import one


@pytest.mark.parametrize("shape", [(2, 3, 50), (1,), (700,)])
def test_all_three_results(shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(1)
    for data in (rng.normal(0.4, 3, shape), np.abs(rng.normal(1, 2, shape)), np.zeros(shape)):
        one("DynamicQuantizeLinear", data.astype(np.float32), results=3).check()
