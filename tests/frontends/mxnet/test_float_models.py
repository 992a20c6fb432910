"""Float networks of the shared folder against MXNet's stored outputs."""

import numpy as np
import pytest

from tests.support.mxnet import TINY, results_of


@pytest.mark.skipif(not TINY.exists(), reason="no folder ../shared beside this one")
@pytest.mark.parametrize("network", ["concat_aligned", "groupconv", "mlp", "preact", "residual"])
def test_tiny_networks_are_near_to_mxnet(network: str) -> None:
    prefix = TINY / f"{network}-float"
    data = np.load(TINY / f"{network}-input.npy")
    (result,) = results_of(prefix, {"data": data}, kernels=False)
    expected = np.load(f"{prefix}-output.npy")
    # Sums of products in another order, in each layer.
    limit = 1e-6 * float(np.abs(expected).max())
    np.testing.assert_allclose(result, expected, rtol=0, atol=limit)
