from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from qnn_ops.errors import QnnError
from tvm_qnn.evaluate.preparation import Preparation, read_settings

# Each pixel encodes its position: red is the column, green the row.
PIXELS = np.stack(np.broadcast_arrays(np.arange(80), np.arange(60)[:, None], 0), -1)
PICTURE = Image.fromarray(PIXELS.astype(np.uint8))


def framed(preparation: Preparation, height: int, width: int) -> Any:
    return np.asarray(preparation.frame(PICTURE, height, width, smooth=False))


def test_all_of_a_picture_is_scaled() -> None:
    found = framed(Preparation(), 30, 20)
    assert found.shape == (30, 20, 3)
    assert found[0, 0, :2].tolist() == [2, 1]
    assert found[-1, -1, :2].tolist() == [78, 59]


def test_the_shorter_side_is_scaled_and_the_middle_cut_out() -> None:
    # As in torchvision, 80 × 60 becomes 40 × 30, and the columns 10 to 30 are kept.
    found = framed(Preparation(resize=30), 20, 20)
    assert found[0, 0, :2].tolist() == [21, 11]
    assert found[-1, -1, :2].tolist() == [59, 49]


def test_the_middle_part_is_kept_first() -> None:
    found = framed(Preparation(crop=0.5), 30, 40)
    assert found[0, 0, :2].tolist() == [20, 15]
    assert found[-1, -1, :2].tolist() == [59, 44]


def test_a_size_below_the_input_s_is_an_error() -> None:
    Preparation(resize=30).check(30, 20)
    with pytest.raises(QnnError, match="resize 30 is too small: the input takes 31 × 20"):
        Preparation(resize=30).check(31, 20)


def test_settings_are_read(tmp_path: Path) -> None:
    path = tmp_path / "x.toml"
    path.write_text('crop = 0.875\nresize = 256\norder = "bgr"\nmean = 3\nstd = [1, 2.5]\n')
    found = read_settings(path)
    assert found == {
        "crop": 0.875,
        "resize": 256,
        "order": "bgr",
        "mean": (3.0,),
        "std": (1.0, 2.5),
    }
    path.write_text('offset = 1\nlabels = "names.txt"\n')
    assert read_settings(path) == {"offset": 1, "labels": tmp_path / "names.txt"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("crop = ", "x.toml is no TOML"),
        ("size = 3", "'size' is no setting; there are crop, resize"),
        ("crop = 1.5", "crop needs to be a number above 0, up to 1, got 1.5"),
        ("resize = 0", "resize needs to be a positive integer, got 0"),
        ("resize = true", "resize needs to be a positive integer, got True"),
        ('order = "hsv"', "order needs to be one of rgb, bgr"),
        ("mean = []", "mean needs to be a number or a list"),
        ("std = [1, 0]", "none of them 0"),
        ("labels = 3", "labels needs to be the name of a file"),
    ],
)
def test_wrong_settings_are_named(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "x.toml").write_text(text)
    with pytest.raises(QnnError, match=message):
        read_settings(tmp_path / "x.toml")
