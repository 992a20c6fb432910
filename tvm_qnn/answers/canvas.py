"""A picture that answers are drawn on."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from colorsys import hsv_to_rgb
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from qnn_ops.errors import QnnError
from tvm_qnn.io.outputs import replacing
from tvm_qnn.io.text import visible

if TYPE_CHECKING:
    from PIL.Image import Image

Point = tuple[float, float]
Colour = tuple[int, int, int]

ENDINGS = (".png", ".jpg", ".jpeg")
"""The endings of drawings' files."""

_LONGEST = 40  # characters of a text, at most
_SMALLEST_TEXT = 10  # pixels
_GOLDEN = (5**0.5 - 1) / 2  # its multiples spread over the circle of hues
_STRENGTH = 0.6  # of colours that are laid over a picture


def colour(index: int) -> Colour:
    """Return the colour of a class: bright, and unlike the colours of neighbouring classes."""
    hue = index * _GOLDEN % 1
    # Hues become similar again after some classes; then saturation and brightness differ.
    red, green, blue = hsv_to_rgb(hue, 0.9 - 0.3 * (index // 8 % 2), 1 - 0.3 * (index // 16 % 2))
    return round(255 * red), round(255 * green), round(255 * blue)


class Canvas:
    """A picture to draw on. Positions are parts of its width and height."""

    def __init__(self, picture: Image) -> None:
        """Begin with a copy of an RGB picture."""
        from PIL import ImageDraw, ImageFont

        self.image = picture.copy()
        self._draw = ImageDraw.Draw(self.image)
        shorter = min(picture.size)
        self._font = ImageFont.load_default(max(_SMALLEST_TEXT, shorter // 28))
        self._line = max(1, round(shorter / 160))

    def box(self, sides: tuple[float, float, float, float], index: int, text: str) -> None:
        """Draw a box with a text above it.

        Args:
            sides: left, top, right and bottom.
            index: the class whose colour is used.
            text: any text.
        """
        (x0, y0), (x1, y1) = self._pixel(sides[:2]), self._pixel(sides[2:])
        left, right, top, bottom = min(x0, x1), max(x0, x1), min(y0, y1), max(y0, y1)
        self._draw.rectangle((left, top, right, bottom), outline=colour(index), width=self._line)
        width, height = self._text_size(text)
        above = top - height if top >= height else top
        self._tag((max(0, min(left, self.image.width - width)), above), index, text)

    def line(self, start: Point, end: Point, index: int) -> None:
        """Draw a line."""
        ends = [self._pixel(start), self._pixel(end)]
        self._draw.line(ends, fill=colour(index), width=2 * self._line)

    def point(self, place: Point, index: int) -> None:
        """Draw a point."""
        (x, y), radius = self._pixel(place), 2 * self._line
        self._draw.ellipse((x - radius, y - radius, x + radius, y + radius), fill=colour(index))

    def overlay(self, classes: np.ndarray, clear: Collection[int] = ()) -> None:
        """Lay colours over the picture.

        Args:
            classes: the class at each position of a grid [height, width], integers.
            clear: the classes that get no colour.
        """
        from PIL import Image

        height, width = classes.shape
        indices, places = np.unique(classes, return_inverse=True)
        palette = np.array([colour(int(index)) for index in indices], np.uint8)
        rows = _nearest(self.image.height, height)
        columns = _nearest(self.image.width, width)
        shown = np.array([255 * (int(index) not in clear) for index in indices], np.uint8)
        found = places.reshape(classes.shape)[rows[:, None], columns]
        blended = Image.blend(self.image, Image.fromarray(palette[found]), _STRENGTH)
        self.image.paste(blended, mask=Image.fromarray(shown[found]))

    def legend(self, entries: Sequence[tuple[int, str]]) -> None:
        """Name colours in the lower left corner, as many as have room.

        Args:
            entries: classes and names, the most important first.
        """
        y = self.image.height
        for index, text in entries:
            y -= self._text_size(text)[1]
            if y < 0:
                break
            self._tag((0, y), index, text)

    def save(self, path: Path) -> None:
        """Write the picture in one step.

        Raises:
            QnnError: if it cannot be written.
        """
        with replacing(path) as part:
            try:
                self.image.save(part)
            except ValueError as error:  # the format does not have this size
                raise QnnError(str(error)) from error

    def _pixel(self, place: Point) -> tuple[int, int]:
        width, height = self.image.size
        return (
            int(np.clip(place[0] * width, 0, width - 1)),
            int(np.clip(place[1] * height, 0, height - 1)),
        )

    def _tag(self, corner: tuple[int, int], index: int, text: str) -> None:
        """Write text on a coloured background."""
        width, height = self._text_size(text)
        (x, y), ground = corner, colour(index)
        self._draw.rectangle((x, y, x + width - 1, y + height - 1), fill=ground)
        is_light = 299 * ground[0] + 587 * ground[1] + 114 * ground[2] > 128_000
        place = x + self._line + 1, y + height // 2
        self._draw.text(
            place, _short(text), "black" if is_light else "white", self._font, anchor="lm"
        )

    def _text_size(self, text: str) -> tuple[int, int]:
        ascent, descent = self._font.getmetrics()  # type: ignore[union-attr]
        length = self._draw.textlength(_short(text), self._font)
        return int(length) + 2 * (self._line + 1), ascent + descent


def _short(text: str) -> str:
    text = visible(text)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def _nearest(extent: int, among: int) -> np.ndarray:
    """Return for each pixel of a row or column the nearest cell of a grid."""
    return ((np.arange(extent) + 0.5) * among / extent).astype(np.int64)
