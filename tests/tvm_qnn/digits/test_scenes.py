"""Pictures with several digits."""

import numpy as np

from tvm_qnn import digits
from tvm_qnn.digits.scenes import EXTENT, scene


def test_digits_stand_in_their_boxes_and_cover_no_other() -> None:
    pictures, labels = digits.held_out()
    for seed in range(20):
        page = scene(pictures, labels, np.random.default_rng(seed), 5)
        assert page.pixels.shape == (EXTENT, EXTENT)
        assert page.pixels.dtype == np.uint8
        assert 2 <= len(page.boxes) == len(page.labels) <= 5
        covered = np.zeros((EXTENT, EXTENT), int)
        for top, left, bottom, right in np.rint(page.boxes * EXTENT).astype(int).tolist():
            assert 10 <= bottom - top == right - left <= 16
            covered[top:bottom, left:right] += 1
        assert covered.max() == 1
        assert page.pixels[covered == 0].max() <= 24
        assert page.pixels[covered == 1].max() > 200


def test_a_page_that_is_full_takes_no_more() -> None:
    page = scene(*digits.held_out(), np.random.default_rng(0), 1000)
    assert 3 <= len(page.labels) <= 23
