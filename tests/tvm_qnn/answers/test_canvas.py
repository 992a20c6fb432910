"""Drawings on pictures."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from qnn_ops.errors import QnnError
from tvm_qnn.answers.canvas import Canvas, colour


def white(width: int = 120, height: int = 80) -> Canvas:
    return Canvas(Image.new("RGB", (width, height), "white"))


def test_a_picture_stays_and_its_copy_is_drawn_on_in_bright_colours() -> None:
    picture = Image.new("RGB", (120, 80), "white")
    canvas = Canvas(picture)
    canvas.box((0.1, 0.1, 0.9, 0.9), 1, "x")
    assert (np.asarray(picture) == 255).all()
    assert canvas.image.size == picture.size
    colours = np.array([colour(i) for i in range(256)])
    assert len({*map(tuple, colours)}) == 256
    assert colours.max(1).min() > 170
    neighbours = np.abs(colours[:, None] - colours).sum(-1)
    for step in range(1, 8):
        assert np.diagonal(neighbours, step).min() > 50


@pytest.mark.parametrize("text", ["x" * 100_000, "\x1b[2J\n\n\n", "", "猫 🐈 \u202e"])
def test_any_text_is_one_line_of_bounded_length(text: str) -> None:
    canvas = white(1000, 100)
    canvas.box((0.1, 0.5, 0.9, 0.9), 1, text)
    pixels = np.asarray(canvas.image)
    assert (pixels[:25] == 255).all()  # one line above the box
    assert (pixels[25:50] != 255).any()


def test_a_label_and_a_legend_stay_in_the_picture() -> None:
    canvas = white()
    canvas.box((0.95, 0.0, 1.0, 1.0), 1, "a cat")  # no room above, none to the right
    pixels = np.asarray(canvas.image)
    assert tuple(pixels[2, 118]) == colour(1)
    assert (pixels[2, 60:110] != 255).any()
    canvas = white(60, 40)
    canvas.legend([(i, f"class {i}") for i in range(1000)])
    assert canvas.image.size == (60, 40)


@pytest.mark.parametrize("size", [(1, 1), (1, 500), (500, 1)])
def test_thin_pictures_are_no_crash(size: tuple[int, int]) -> None:
    canvas = white(*size)
    canvas.box((0, 0, 1, 1), 1, "cat")
    canvas.line((0, 0), (1, 1), 2)
    canvas.point((0.5, 0.5), 3)
    canvas.overlay(np.arange(12).reshape(3, 4))
    canvas.legend([(1, "cat")])


def test_an_overlay_s_places_are_the_picture_s() -> None:
    canvas = white(90, 60)
    canvas.overlay(np.array([[0, 1, 2], [2, 1, 0]]))
    pixels = np.asarray(canvas.image).astype(int)
    for (x, y), index in {(29, 29): 0, (30, 29): 1, (60, 0): 2, (0, 30): 2, (89, 59): 0}.items():
        assert abs(pixels[y, x] - (0.6 * np.array(colour(index)) + 0.4 * 255)).max() <= 1
    clear = white(90, 60)
    clear.overlay(np.array([[0, 1, 2], [2, 1, 0]]), {1})
    pixels = np.asarray(clear.image)
    assert (pixels[:, 30:60] == 255).all()
    assert (pixels[:, :30] != 255).any(-1).all()


def test_a_file_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    white().save(tmp_path / "out.png")
    with Image.open(tmp_path / "out.png") as written:
        assert written.size == (120, 80)
    with pytest.raises(QnnError, match=r"cannot write .*out\.jpg"):
        white(70_000, 1).save(tmp_path / "out.jpg")  # wider than a JPEG can be
    assert [path.name for path in tmp_path.iterdir()] == ["out.png"]
