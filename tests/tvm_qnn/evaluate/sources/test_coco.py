from __future__ import annotations

import json
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from qnn_ops.errors import QnnError
from tvm_qnn.evaluate.samples import BOXES, Classes, Data
from tvm_qnn.evaluate.sources import read_data

CONTENT: dict[str, Any] = {
    "images": [{"id": 7, "file_name": "a.png", "width": 20, "height": 10}],
    "categories": [{"id": 3, "name": "bee"}, {"id": 1, "name": "ant"}],
    "annotations": [{"image_id": 7, "category_id": 3, "bbox": [1, 2, 3, 4], "iscrowd": 0}],
}


def read(folder: Path, content: Any, classes: Classes) -> Data:
    (folder / "images").mkdir(exist_ok=True)
    (folder / "images" / "a.png").touch()
    (folder / "x.json").write_text(json.dumps(content))
    return read_data(folder / "x.json", classes)


@pytest.mark.parametrize(
    ("classes", "expected"),
    [
        (Classes(9, ("ant", "?", "fly", "bee")), 3),  # by name
        (Classes(2), 1),  # in order
        (Classes(90), 2),  # by number
        (Classes(0), 2),
    ],
)
def test_categories_become_classes(tmp_path: Path, classes: Classes, expected: int) -> None:
    data = read(tmp_path, CONTENT, classes)
    assert data.kind == BOXES
    assert [(each.path.name, each.image) for each in data.samples] == [("a.png", 7)]
    (box,) = data.annotations["annotations"]
    assert (box["category_id"], box["area"], box["image_id"]) == (expected, 12, 7)


@pytest.mark.parametrize(
    ("place", "value", "message"),
    [
        (("images",), 3, "x.json has no list of images"),
        (("images",), [], "has no images"),
        (("images", 0, "id"), "7", r"images\[0\]: id needs to be int, got '7'"),
        (("images", 0, "width"), 0, r"images\[0\]: width needs to be 1 or more"),
        (("images", 0, "file_name"), "b.png", r"images\[0\]: there is no file .*b.png"),
        (("annotations", 0, "image_id"), 8, r"annotations\[0\]: there is no image 8"),
        (("annotations", 0, "category_id"), 2, r"annotations\[0\]: there is no category 2"),
        (("annotations", 0, "bbox"), [1, 2, 3], "bbox needs left, top, width and height"),
        (("annotations", 0, "bbox"), [1, 2, 3, float("nan")], "bbox needs"),
        (("categories", 0, "id"), 91, "has 2 categories, but the model has 90 classes"),
    ],
)
def test_what_is_wrong_is_named(
    tmp_path: Path, place: tuple[Any, ...], value: Any, message: str
) -> None:
    content = deepcopy(CONTENT)
    inner: Any = content
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = value
    with pytest.raises(QnnError, match=message):
        read(tmp_path, content, Classes(90))


def test_a_file_that_is_no_json_is_told(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text("{")
    with pytest.raises(QnnError, match=r"x.json is no JSON"):
        read_data(tmp_path / "x.json", Classes(2))
