from __future__ import annotations

from pathlib import Path

import pytest

from qnn_ops.errors import QnnError
from tvm_qnn.evaluate.samples import Classes
from tvm_qnn.evaluate.sources import read_data

CLASSES = Classes(3, ("ant", "bee", "fly"))


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
    data = read_data(folder / name, CLASSES)
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
def test_what_is_wrong_is_told_with_its_line(
    folder: Path, name: str, text: str, message: str
) -> None:
    (folder / name).write_text(text)
    with pytest.raises(QnnError, match=message):
        read_data(folder / name, CLASSES)


def test_a_file_of_another_encoding_is_told(folder: Path) -> None:
    (folder / "x.csv").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(QnnError, match=r"x.csv is no text in UTF-8"):
        read_data(folder / "x.csv", CLASSES)
