"""The synthetic pictures."""

import numpy as np
import pytest

from tests.support.errors import fails
from tvm_qnn.zoo import images


def test_pictures_are_deterministic_different_and_structured() -> None:
    batch = images.pictures(range(12), 64)
    assert batch.shape == (12, 64, 64, 3)
    assert batch.dtype == np.uint8
    np.testing.assert_array_equal(batch[5], images.picture(5, 64))
    for i, one in enumerate(batch):
        assert one.std() > 20
        for other in batch[:i]:
            assert np.abs(one.astype(int) - other).mean() > 10
        # Structure: neighbours are much closer than pixels far apart.
        near = np.abs(np.diff(one.astype(int), axis=1)).mean()
        far = np.abs(one.astype(int) - one[:, ::-1]).mean()
        assert near < far


@pytest.mark.parametrize("size", [1, 7, 33, 75])
def test_any_size(size: int) -> None:
    assert images.picture(3, size).shape == (size, size, 3)


def test_noise_and_pictures_are_inputs() -> None:
    pixels = images.noise(0, 64)
    assert len(np.unique(pixels)) == 256
    np.testing.assert_array_equal(pixels, images.noise(0, 64))
    pixels = np.arange(256, dtype=np.uint8)
    assert images.as_input(pixels, "uint8") is pixels
    signed = images.as_input(pixels, "int8")
    assert signed.dtype == np.int8
    np.testing.assert_array_equal(signed, np.arange(-128, 128))
    wide = images.as_input(pixels, "int16")
    assert wide.dtype == np.int16
    np.testing.assert_array_equal(wide, np.arange(-128, 128) * 256)
    fails("int8 or int16, not as 'float32'", images.as_input, pixels, "float32")
