"""What is printed of outputs, and drawn."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from qnn_ops.dialect.tensor_info import Signature, TensorInfo
from qnn_ops.errors import QnnError
from tvm_qnn.answers.question import Question
from tvm_qnn.answers.readings import readings_of
from tvm_qnn.cli.answers import check_drawing, describe, show, write_drawing

PICTURE = TensorInfo("x", (1, 2, 2, 3), "uint8", 1.0, 0)
MAP = TensorInfo("map", (1, 2, 2), "int64", role="map", classes=3)
REST = TensorInfo("rest [red]", (2, 0), "int8")
(MASK,) = readings_of(Question(Signature((PICTURE,), (MAP, REST))))
ARRAY = np.array([[[1, 1], [2, 1]]], np.int64)


def test_a_drawing_has_the_size_of_the_picture_that_it_needs(tmp_path: Path) -> None:
    picture = Image.new("RGB", (4, 4))
    check_drawing(Path("out.PNG"), picture, [MASK])
    with pytest.raises(QnnError, match=r"out\.gif: its name must end in \.png or \.jpg"):
        check_drawing(Path("out.gif"), picture, [MASK])
    with pytest.raises(QnnError, match="needs one picture as --input"):
        check_drawing(Path("out.png"), None, [MASK])
    with pytest.raises(QnnError, match="nothing to draw"):
        check_drawing(Path("out.png"), picture, [])
    write_drawing(tmp_path / "out.jpg", Image.new("RGB", (30, 20)), [MASK.answer([ARRAY])])
    with Image.open(tmp_path / "out.jpg") as written:
        assert (written.size, written.format) == ((30, 20), "JPEG")


def test_outputs_are_described_and_printed_as_they_are(capsys: pytest.CaptureFixture[str]) -> None:
    taken, answers = {"map": MASK}, {"map": MASK.answer([ARRAY])}
    assert describe("map", ARRAY, taken, answers)["taken_for"] == MASK.taken_for
    empty = np.zeros((2, 0), np.int8)
    expected = {"output": "rest", "shape": [2, 0], "dtype": "int8"}
    assert describe("rest", empty, taken, answers) == expected
    full = np.array([[3, -4]], np.int8)
    assert describe("rest", full, taken, answers)["min"] == -4
    results: dict[str, np.ndarray[Any, Any]] = {
        "map": ARRAY,
        "rest [red]": np.zeros((2, 0), np.int8),
    }
    show(results, {"map": MASK}, {"map": MASK.answer([ARRAY])}, None)
    printed = capsys.readouterr().out
    assert "taken for the class of each place" in printed
    assert "rest [red]: int8 2×0" in printed
    assert "75.0 %" in printed
