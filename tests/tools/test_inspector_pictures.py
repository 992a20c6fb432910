import re
import shutil
from pathlib import Path

import pytest
from PIL import Image

from qnn_ops.errors import QnnError
from tools.inspector_pictures import BROWSERS, FOLDER, PICTURES, page, take
from tvm_qnn import digits

BROWSER = next(filter(None, map(shutil.which, BROWSERS)), "")


def test_the_pictures_are_those_of_the_guide() -> None:
    guide = (FOLDER.parent / "guides" / "commands.md").read_text(encoding="utf-8")
    named = re.findall(r"\]\(\.\./pictures/(\w+\.png)\)", guide)
    assert sorted(named) == sorted(picture.name for picture in PICTURES)
    for picture in PICTURES:
        with Image.open(FOLDER / picture.name) as image:
            assert image.size == picture.size


@pytest.mark.skipif(not BROWSER, reason="there is no Chromium on this machine")
def test_a_picture_is_taken_of_a_page(tmp_path: Path) -> None:
    picture = next(each for each in PICTURES if not each.options)
    (tmp_path / "digits.tflite").write_bytes(digits.model("int8"))
    (tmp_path / "other.tflite").write_bytes(digits.model("uint8"))
    html = page(picture, tmp_path)
    take(BROWSER, html, picture.size, tmp_path / "taken.png")
    with Image.open(tmp_path / "taken.png") as image:
        assert image.size == picture.size
        assert len(image.convert("RGB").getcolors(1 << 24) or ()) > 20


def test_a_browser_that_takes_none_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "page.html").touch()
    with pytest.raises(QnnError, match="true took no picture"):
        take(shutil.which("true") or "", tmp_path / "page.html", (10, 10), tmp_path / "x.png")
