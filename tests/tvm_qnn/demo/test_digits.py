import io
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tvm_qnn import digits
from tvm_qnn.demo.digits import DigitsResult, show_digits
from tvm_qnn.io.terminal import Terminal


def test_figures_are_counted_from_real_answers() -> None:
    # The second of three pictures is wrong here, and its scores are not LiteRT's.
    scores = np.array([[9, 1, 0], [2, 0, 7], [1, 3, 0]], np.uint8)
    expected = np.array([[9, 1, 0], [7, 0, 2], [1, 3, 0]], np.uint8)
    result = DigitsResult(np.array([0, 0, 1]), scores, expected)
    assert result.predictions.tolist() == [0, 2, 1]
    assert (result.right, result.equal_predictions, result.equal_scores) == (2, 2, 7)


def test_every_held_out_digit_is_classified_as_litert_does(tmp_path: Path) -> None:
    text = io.StringIO()
    show_digits(Terminal(file=text, width=120), tmp_path / "new" / "folder")
    assert text.getvalue().count("450 of 450") == 2
    assert text.getvalue().count("4500 of 4500") == 2
    with Image.open(tmp_path / "new" / "folder" / "digits.png") as drawing:
        assert drawing.format == "PNG"
        assert min(drawing.size) > 400


def test_a_picture_that_cannot_be_drawn_does_not_end_it(monkeypatch: pytest.MonkeyPatch) -> None:
    text = io.StringIO()
    _, labels = digits.held_out()
    scores = np.eye(10, dtype=np.uint8)[labels]
    result = DigitsResult(labels, scores, scores)
    monkeypatch.setattr("tvm_qnn.demo.digits.classify", lambda _style: result)
    show_digits(Terminal(file=text, width=120), Path("/dev/null/out"))
    assert text.getvalue().count("450 of 450") == 4
    assert "Without a picture of them" in text.getvalue()
