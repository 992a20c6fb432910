from pathlib import Path

import pytest

from tests.support.errors import fails
from tvm_qnn.evaluate.settings import read_settings


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
    fails(message, read_settings, tmp_path / "x.toml")
