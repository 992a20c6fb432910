from __future__ import annotations

from pathlib import Path

import pytest

from qnn_ops.errors import QnnError
from tests.support.pictures import write_picture
from tvm_qnn.evaluate.samples import CLASSES, MASKS, NOTHING, Classes
from tvm_qnn.evaluate.sources import read_data


def write(folder: Path, *names: str) -> None:
    for name in names:
        write_picture(folder / name, [[1]])


def test_class_folders_are_in_the_order_of_their_names(tmp_path: Path) -> None:
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


def test_class_folders_may_be_named_as_the_classes(tmp_path: Path) -> None:
    write(tmp_path, "bee/1.png", "ant/2.png")
    data = read_data(tmp_path, Classes(4, ("wasp", "bee", "fly", "ant")))
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
    with pytest.raises(QnnError, match=message):
        read_data(tmp_path, Classes(3))
