"""The constants of some output channels."""

import numpy as np
import pytest

from legalize.kernels.conv2d.plan import Weights


@pytest.mark.parametrize("shape", [(5,), (1, 5), (1, 5, 1, 1)])
def test_constants_of_channels_have_any_shape(shape: tuple[int, ...]) -> None:
    numbers = np.arange(5)
    kernel = np.zeros((5, 1, 1, 4), np.int8)
    own = Weights(kernel, 3, None, numbers.reshape(shape), -2).of(slice(2, 4))
    assert own.kernel.shape == (2, 1, 1, 4)
    assert np.asarray(own.multiplier).tolist() == [2, 3]
    assert (own.zero_point, own.bias, own.shift) == (3, None, -2)
