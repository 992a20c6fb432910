from __future__ import annotations

import numpy as np
import pytest

from qnn_ops.resize_taps import FRACTION_BITS, fixed_point_taps, float32_taps, nearest_pixels

CENTERS = [(False, False), (True, False), (False, True)]


def test_nearest_pixels_by_hand() -> None:
    def pixels(align_corners: bool, half_pixel_centers: bool) -> list[int]:
        found = nearest_pixels(
            3, 5, align_corners=align_corners, half_pixel_centers=half_pixel_centers
        )
        return [int(pixel) for pixel in found]

    assert pixels(False, False) == [0, 0, 1, 1, 2]  # 0, 0.6, 1.2, 1.8, 2.4, rounded down
    assert pixels(True, False) == [0, 1, 1, 2, 2]  # 0, 0.5, 1, 1.5, 2, half away from zero
    assert pixels(False, True) == [0, 0, 1, 2, 2]  # 0.3, 0.9, 1.5, 2.1, 2.7, rounded down


def test_taps_by_hand() -> None:
    for taps, one in ((float32_taps, 1), (fixed_point_taps, 1 << FRACTION_BITS)):
        found = taps(2, 4, align_corners=False, half_pixel_centers=True)
        np.testing.assert_array_equal(found.lower, [0, 0, 0, 1])
        np.testing.assert_array_equal(found.upper, [0, 1, 1, 1])
        np.testing.assert_array_equal(found.distance, np.array([-0.25, 0.25, 0.75, 0.25]) * one)


@pytest.mark.parametrize(("align_corners", "half_pixel_centers"), CENTERS)
def test_pixels_stay_on_the_image(align_corners: bool, half_pixel_centers: bool) -> None:
    # Fixed-point positions of large outputs reach beyond the image, as far as that the C code that
    # they follow would read other memory.
    for size, out_size in ((1, 1), (1, 1500), (3, 4001), (700, 3), (64, 3000), (5, 1)):
        for taps in (float32_taps, fixed_point_taps):
            found = taps(
                size,
                out_size,
                align_corners=align_corners,
                half_pixel_centers=half_pixel_centers,
            )
            for pixels in (found.lower, found.upper):
                assert pixels.shape == (out_size,)
                assert pixels.min() >= 0
                assert pixels.max() < size
            step = 1 if taps is float32_taps else 1 << FRACTION_BITS
            between = found.upper > found.lower
            assert (found.distance[between] > 0).all()
            assert (found.distance[between] < step).all()
