from typing import Any

import numpy as np
from PIL import Image

from tests.support.errors import fails
from tvm_qnn.io.preparation import Preparation

# Each pixel encodes its position: red is the column, green the row.
PIXELS = np.stack(np.broadcast_arrays(np.arange(80), np.arange(60)[:, None], 0), -1)
PICTURE = Image.fromarray(PIXELS.astype(np.uint8))


def framed(preparation: Preparation, height: int, width: int) -> Any:
    return np.asarray(preparation.frame(PICTURE, height, width, smooth=False))


def test_a_picture_is_scaled_and_its_middle_kept() -> None:
    found = framed(Preparation(), 30, 20)
    assert found.shape == (30, 20, 3)
    assert found[0, 0, :2].tolist() == [2, 1]
    assert found[-1, -1, :2].tolist() == [78, 59]
    # As in torchvision, 80 × 60 becomes 40 × 30, and the columns 10 to 30 are kept.
    found = framed(Preparation(resize=30), 20, 20)
    assert found[0, 0, :2].tolist() == [21, 11]
    assert found[-1, -1, :2].tolist() == [59, 49]
    found = framed(Preparation(crop=0.5), 30, 40)
    assert found[0, 0, :2].tolist() == [20, 15]
    assert found[-1, -1, :2].tolist() == [59, 44]


def test_a_size_below_the_input_s_is_an_error() -> None:
    Preparation(resize=30).check(30, 20)
    fails("resize 30 is too small: the input takes 31 × 20", Preparation(resize=30).check, 31, 20)
