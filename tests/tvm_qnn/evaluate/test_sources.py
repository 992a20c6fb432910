"""Where data come from: folders of pictures, tables, archives of numpy, and COCO's annotations."""

import json
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support.errors import fails
from tests.support.pictures import write_picture
from tvm_qnn.evaluate.samples import BOXES, CLASSES, MASKS, NOTHING, Classes, Data
from tvm_qnn.evaluate.sources import read_data

ROWS = np.zeros((3, 2, 2), np.uint8)


def write_arrays(folder: Path, **arrays: Any) -> Path:
    np.savez(folder / "x.npz", **arrays)
    return folder / "x.npz"


@pytest.mark.parametrize("labels", [[2, 0, 1], [[2], [0], [1]], ["fly", "ant", "bee"]])
def test_rows_have_labels(tmp_path: Path, labels: Any) -> None:
    path = write_arrays(tmp_path, pictures=ROWS, y=np.array(labels))
    data = read_data(path, Classes(3, ("ant", "bee", "fly")))
    assert data.kind == CLASSES
    assert [(each.row, each.label) for each in data.samples] == [(0, 2), (1, 0), (2, 1)]


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"x": ROWS, "labels": np.arange(2)}, "equally many rows.* x 3, labels 2"),
        ({"x": ROWS[:0], "labels": np.arange(0)}, "one or more"),
        ({"labels": np.arange(2)}, "equally many rows"),
        ({"x": np.array(3)}, "equally many rows"),
        ({"x": ROWS, "y": np.arange(3), "label": np.arange(3)}, "by several names: label, y"),
        ({"x": ROWS, "y": np.zeros(3)}, "y needs an integer or a name for each row, got float64"),
        ({"x": ROWS, "y": np.array([0, 1, 10])}, "x.npz, row 2: label 10 is out of range"),
    ],
)
def test_what_is_wrong_is_told(tmp_path: Path, arrays: dict[str, Any], message: str) -> None:
    fails(message, read_data, write_arrays(tmp_path, **arrays), Classes(10))


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
def test_what_is_wrong_in_annotations_is_named(
    tmp_path: Path, place: tuple[Any, ...], value: Any, message: str
) -> None:
    content = deepcopy(CONTENT)
    inner: Any = content
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = value
    fails(message, read, tmp_path, content, Classes(90))


def test_files_of_no_json_or_another_encoding_are_told(tmp_path: Path, folder: Path) -> None:
    (tmp_path / "x.json").write_text("{")
    fails(r"x.json is no JSON", read_data, tmp_path / "x.json", Classes(2))
    (folder / "x.csv").write_bytes(b"\xff\xfe\x00")
    fails(r"x.csv is no text in UTF-8", read_data, folder / "x.csv", INSECTS)


def write(folder: Path, *names: str) -> None:
    for name in names:
        write_picture(folder / name, [[1]])


def test_class_folders_are_in_the_order_of_names_or_of_the_classes(tmp_path: Path) -> None:
    write(tmp_path, "b/2.png", "b/1.PNG", "b/deep/3.png", "a/x.png", "10/y.png", ".hidden/z.png")
    (tmp_path / "a" / "notes.txt").touch()
    (tmp_path / "readme.txt").touch()
    data = read_data(tmp_path, Classes(3))
    assert data.kind == CLASSES
    found = [(each.path.relative_to(tmp_path).as_posix(), each.label) for each in data.samples]
    assert found == [
        *[("10/y.png", 0), ("a/x.png", 1)],
        *[("b/1.PNG", 2), ("b/2.png", 2), ("b/deep/3.png", 2)],
    ]
    write(tmp_path / "named", "bee/1.png", "ant/2.png")
    data = read_data(tmp_path / "named", Classes(4, ("wasp", "bee", "fly", "ant")))
    assert [sample.label for sample in data.samples] == [3, 1]


def test_imagenet_s_thousand_folders_leave_out_the_background(tmp_path: Path) -> None:
    for number in range(1000):
        (tmp_path / f"n{number:04}").mkdir()
        (tmp_path / f"n{number:04}" / "x.png").touch()
    data = read_data(tmp_path, Classes(1001, tuple(map(str, range(1001)))))
    assert [sample.label for sample in data.samples] == [*range(1, 1001)]


def test_pictures_alone_have_no_classes(tmp_path: Path) -> None:
    write(tmp_path, "b.png", "a.png")
    data = read_data(tmp_path, Classes(3))
    assert data.kind == NOTHING
    assert [sample.path.name for sample in data.samples] == ["a.png", "b.png"]
    data = read_data(write_arrays(tmp_path, x=ROWS), Classes(0))
    assert (data.kind, len(data.samples)) == (NOTHING, 3)


def test_masks_have_the_names_of_their_pictures(tmp_path: Path) -> None:
    write(tmp_path, "images/a.png", "images/deep/b.jpg", "masks/deep/b.png", "masks/a.png")
    data = read_data(tmp_path, Classes(0))
    assert data.kind == MASKS
    pairs = [(each.path, each.mask) for each in data.samples]
    assert pairs == [
        (tmp_path / "images" / "a.png", tmp_path / "masks" / "a.png"),
        (tmp_path / "images" / "deep" / "b.jpg", tmp_path / "masks" / "deep" / "b.png"),
    ]


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["a/1.png", "b/notes.txt", "c/1.png"], "class folder .*/b has no pictures"),
        (["a/1.png", "b/1.png"], "has 2 class folders, but the model has 3 classes"),
        (["notes.txt"], "neither pictures nor folders"),
        (["images/a.png", "masks/b.png"], "images/a.png has no mask"),
        (["images/a.png", "masks/a.png", "masks/b.png"], "masks/b.png has no picture"),
        (["images/a.png", "images/a.jpg", "masks/a.png"], "differ in their endings alone"),
        (["pictures/a.txt", "masks/a.png"], "pictures has no pictures"),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, names: list[str], message: str) -> None:
    for name in names:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    fails(message, read_data, tmp_path, Classes(3))


INSECTS = Classes(3, ("ant", "bee", "fly"))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with two files that stand for pictures."""
    for name in ("a.png", "b, c.png"):
        (tmp_path / name).touch()
    return tmp_path


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("x.csv", 'a.png,1\n"b, c.png",fly\n'),
        ("x.CSV", '\ufeffid,Label,path\r\n7,bee,a.png\r\n\r\n8,2,"b, c.png"\r\n'),
        ("x.jsonl", '{"path": "a.png", "label": 1}\n\n{"label": "fly", "path": "b, c.png"}\n'),
    ],
)
def test_paths_and_labels_are_read(folder: Path, name: str, text: str) -> None:
    (folder / name).write_text(text, encoding="utf-8")
    data = read_data(folder / name, INSECTS)
    found = [(each.path, each.label) for each in data.samples]
    assert found == [(folder / "a.png", 1), (folder / "b, c.png", 2)]
    assert "line" in data.samples[0].where


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("x.csv", "path,label\na.png,1\nnone.png,1\n", "x.csv, line 3: there is no file .*none"),
        ("x.csv", "a.png,1\na.png,3\n", "x.csv, line 2: label 3 is out of range"),
        ("x.csv", "a.png,1\n\na.png,wasp\n", "x.csv, line 3: label 'wasp' is no class"),
        ("x.csv", "a.png\n", "line 1: a path and a label are needed, got 'a.png'"),
        ("x.csv", 'a.png,1\n"a.png,1\n', "x.csv, line 2: unexpected end"),
        ("x.csv", "path,label\n", "has no samples"),
        ("x.csv", "a.png,1.5\n", "line 1: label '1.5' is no class"),
        ("x.jsonl", '{"path": "a.png", "label": 1}\n{"path"\n', "line 2 is no JSON"),
        ("x.jsonl", '{"path": "a.png"}\n', "line 1: an object with path and label"),
        ("x.jsonl", '{"path": "a.png", "label": true}\n', "neither a name nor an integer: True"),
        ("x.jsonl", '{"path": 3, "label": 1}\n', "line 1: the path is no text"),
        ("x.txt", "a.png,1\n", "is no data"),
    ],
)
def test_what_is_wrong_has_its_line(folder: Path, name: str, text: str, message: str) -> None:
    (folder / name).write_text(text)
    fails(message, read_data, folder / name, INSECTS)
