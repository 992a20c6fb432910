"""How pictures become a model's input: cut, scaled, in which order of colours."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from qnn_ops.errors import QnnError
from tvm_qnn.io.normalization import Normalization

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

if TYPE_CHECKING:
    from PIL.Image import Image

ORDERS = ("rgb", "bgr")
"""Of the colours in an input's channels."""


@dataclass(frozen=True)
class Preparation:
    """What is done to a picture before it is normalized.

    Attributes:
        crop: the middle part of width and height that is kept, first of all.
        resize: the pixels to which the shorter side is then scaled, before the middle of the
            input's size is cut out; None: all is scaled to the input's size.
        order: of the colours.
        normalization: what pixels stand for, where a person says it.
    """

    crop: float = 1.0
    resize: int | None = None
    order: str = ORDERS[0]
    normalization: Normalization | None = None

    @property
    def is_whole(self) -> bool:
        """Whether the whole picture is scaled to the input's size."""
        return self.crop == 1 and self.resize is None

    def check(self, height: int, width: int) -> None:
        """Check that pictures are large enough for an input.

        Raises:
            QnnError: if not.
        """
        if self.resize is not None and self.resize < max(height, width):
            raise QnnError(
                f"resize {self.resize} is too small: the input takes {height} × {width} pixels"
            )

    def frame(self, picture: Image, height: int, width: int, *, smooth: bool = True) -> Image:
        """Return what the model sees of a picture, at its input's size.

        Args:
            picture: of any size.
            height: of the input.
            width: of the input.
            smooth: whether neighbouring pixels are mixed (bilinear), or the nearest one is taken.
        """
        from PIL.Image import Resampling

        sampling = Resampling.BILINEAR if smooth else Resampling.NEAREST
        if self.crop < 1:
            kept = [max(1, round(side * self.crop)) for side in picture.size]
            left, top = ((side - part) // 2 for side, part in zip(picture.size, kept, strict=True))
            picture = picture.crop((left, top, left + kept[0], top + kept[1]))
        if self.resize is None:
            return picture.resize((width, height), sampling)
        # Sizes and corners as torchvision's Resize and CenterCrop round them.
        shorter = min(picture.size)
        scaled = [max(1, int(self.resize * side / shorter)) for side in picture.size]
        picture = picture.resize((scaled[0], scaled[1]), sampling)
        left, top = round((scaled[0] - width) / 2.0), round((scaled[1] - height) / 2.0)
        return picture.crop((left, top, left + width, top + height))


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _numbers(value: Any) -> bool:
    return _number(value) or (isinstance(value, list) and value != [] and all(map(_number, value)))


def _count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


# For each key: what it needs to be, in words, and whether a value is that.
_KEYS: Mapping[str, tuple[str, Callable[[Any], bool]]] = {
    "crop": ("a number above 0, up to 1", lambda value: _number(value) and 0 < value <= 1),
    "resize": ("a positive integer", lambda value: _count(value) and value > 0),
    "order": (f"one of {', '.join(ORDERS)}", lambda value: value in ORDERS),
    "mean": ("a number or a list of numbers", _numbers),
    "std": ("a number or a list of numbers, none of them 0", lambda value: _nonzero(value)),
    "offset": ("an integer, 0 or more", _count),
    "labels": ("the name of a file", lambda value: isinstance(value, str) and value != ""),
}


def _nonzero(value: Any) -> bool:
    return _numbers(value) and all(value if isinstance(value, list) else [value])


def read_settings(path: Path) -> dict[str, Any]:
    """Read what a TOML file says of a model's data.

    Returns:
        Of the keys crop, resize, order, mean, std, offset and labels, those that it has; mean and
        std as tuples, labels as a path.

    Raises:
        QnnError: if it is no TOML, or a key or a value is none that is known.
    """
    try:
        found = tomllib.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:  # of the encoding, too
        raise QnnError(f"{path} is no TOML: {error}") from error
    for name, value in found.items():
        if name not in _KEYS:
            raise QnnError(f"{path}: {name!r} is no setting; there are {', '.join(_KEYS)}")
        needed, fits = _KEYS[name]
        if not fits(value):
            raise QnnError(f"{path}: {name} needs to be {needed}, got {value!r}")
    for name in ("mean", "std"):
        if name in found:
            value = found[name]
            found[name] = tuple(map(float, value if isinstance(value, list) else [value]))
    if "labels" in found:
        found["labels"] = path.parent / found["labels"]
    return found
