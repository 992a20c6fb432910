import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from qnn_ops.errors import QnnError
from tests.support.errors import fails
from tests.support.linking import needs_linker
from tests.support.tflite import library_of
from tests.tvm_qnn.serving.test_served import compiled
from tvm_qnn import digits
from tvm_qnn.library.library import load
from tvm_qnn.serving import Served
from tvm_qnn.serving.folder import Folder, find_models


def write(folder: Path, *names: str) -> None:
    for name in names:
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(name, encoding="utf-8")


def following(folder: Path) -> tuple[Any, list[str]]:
    """Follow a folder whose models are their files' texts; "bad" is none."""
    said: list[str] = []

    def make(path: Path, labels: Path | None) -> Any:
        text = path.read_text(encoding="utf-8")
        if text == "bad":
            raise QnnError(f"{path} is bad")
        names = None if labels is None else labels.read_text(encoding="utf-8")
        return SimpleNamespace(text=text, labels=names, library=SimpleNamespace(digest=""))

    return Folder(folder, make, said.append), said


def test_models_of_a_folder(tmp_path: Path) -> None:
    write(tmp_path, "a.so", "a.tflite", "b.ONNX", "c/1.so", "c/10.tflite", "a.txt", "notes.json")
    write(tmp_path, ".d.so", "c/.e.so", "f/readme")
    found = {key: str(path.relative_to(tmp_path)) for key, path in find_models(tmp_path).items()}
    assert found == {
        ("a", ""): "a.so",
        ("b", ""): "b.ONNX",
        ("c", "1"): "c/1.so",
        ("c", "10"): "c/10.tflite",
    }


def test_a_folder_without_models_or_with_two_of_a_name_is_one_error(tmp_path: Path) -> None:
    fails("has no model that can be served", following(tmp_path)[0].first)
    write(tmp_path, "a.tflite", "a.onnx")
    fails(r"a\.onnx and a\.tflite are the same model", find_models, tmp_path)
    write(tmp_path, "a.so", "a/1.so")
    fails("a is a model and a folder of its versions", find_models, tmp_path)


def test_what_changes_is_made_once_it_stays(tmp_path: Path) -> None:
    write(tmp_path, "a.so", "b/1.so")
    folder, said = following(tmp_path)
    assert {key: made.text for key, made in folder.first().items()} == {
        ("a", ""): "a.so",
        ("b", "1"): "b/1.so",
    }
    assert folder.changes() == []
    (tmp_path / "a.so").write_text("half")
    write(tmp_path, "b/2.so")
    assert folder.changes() == []  # it may be in the making
    (tmp_path / "a.so").write_text("the whole")
    ((key, made),) = folder.changes()
    assert (key, made.text) == (("b", "2"), "b/2.so")
    ((key, made),) = folder.changes()
    assert (key, made.text, made.labels) == (("a", ""), "the whole", None)
    write(tmp_path, "a.txt")
    assert folder.changes() == []
    ((key, made),) = folder.changes()
    assert (key, made.labels) == (("a", ""), "a.txt")
    (tmp_path / "b" / "1.so").unlink()
    assert folder.changes() == [(("b", "1"), None)]
    assert folder.changes() == []
    assert said == []


def test_what_cannot_be_served_is_said_once(tmp_path: Path) -> None:
    write(tmp_path, "a.so", "bad.so")
    (tmp_path / "bad.so").write_text("bad")
    folder, said = following(tmp_path)
    assert [*folder.first()] == [("a", "")]
    folder.changes()
    assert said == [f"bad.so is not served: {tmp_path / 'bad.so'} is bad"]
    (tmp_path / "bad.so").write_text("good now")
    assert [folder.changes(), [key for key, _ in folder.changes()]] == [[], [("bad", "")]]
    write(tmp_path, "a.tflite", "c.tflite", "c.onnx")
    assert folder.changes() == folder.changes() == []
    assert len(said) == 2
    assert "the models stay as they are" in said[1]
    assert "c.onnx and c.tflite are the same model" in said[1]


@needs_linker
def test_a_library_that_is_written_over_runs_on(tmp_path: Path) -> None:
    library_of(digits.model("int8"), "host", num_threads=1).export(tmp_path / "a.so")
    compiled("RELU").export(other := tmp_path / ".other.so")
    folder = Folder(tmp_path, lambda path, _: Served(load(path, num_threads=1)), print)
    served = folder.first()["a", ""]
    x = digits.to_input(digits.held_out()[0][:1], "int8")
    expected = served.library.run(x)
    shutil.copyfile(other, tmp_path / "a.so")  # into the same file
    np.testing.assert_array_equal(served.library.run(x), expected)
    folder.changes()
    ((_, changed),) = folder.changes()
    assert changed is not None
    assert changed.library.inputs[0].name == "x1"
    np.testing.assert_array_equal(served.library.run(x), expected)
