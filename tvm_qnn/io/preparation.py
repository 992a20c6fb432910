"""How pictures are cut, scaled and ordered by colour for a model's input."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING

import numpy as np

from qnn_ops.dialect.tensor_info import TensorInfo
from qnn_ops.errors import QnnError
from tvm_qnn.io.images import as_input, open_picture, picture_shape
from tvm_qnn.io.normalization import Normalization

if TYPE_CHECKING:
    from PIL.Image import Image

ORDERS = ("rgb", "bgr")
"""The orders of colours in an input's channels."""


@dataclass(frozen=True)
class Preparation:
    """The steps before a picture is normalized.

    Attributes:
        crop: the middle part of width and height that is kept, as the first step.
        resize: the length in pixels to which the shorter side is then scaled, before the middle of
            the input's size is cut out; None: the whole picture is scaled to the input's size.
        order: the order of the colours.
        normalization: the real values of pixels, if a person states them.
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
            QnnError: if they are not.
        """
        if self.resize is not None and self.resize < max(height, width):
            raise QnnError(
                f"resize {self.resize} is too small: the input takes {height} × {width} pixels"
            )

    def frame(self, picture: Image, height: int, width: int, *, smooth: bool = True) -> Image:
        """Return the part of a picture that the model sees, at its input's size.

        Args:
            picture: a picture of any size.
            height: the input's height.
            width: the input's width.
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
        # Sizes and corners are rounded as in torchvision's Resize and CenterCrop.
        shorter = min(picture.size)
        scaled = [max(1, int(self.resize * side / shorter)) for side in picture.size]
        picture = picture.resize((scaled[0], scaled[1]), sampling)
        left, top = round((scaled[0] - width) / 2.0), round((scaled[1] - height) / 2.0)
        return picture.crop((left, top, left + width, top + height))

    def pixels(self, picture: Image, height: int, width: int, channels: int) -> np.ndarray:
        """Return the part of a picture that the model sees, as uint8 [height, width, channels].

        Args:
            picture: a picture of any size, in the mode "RGB", or "L" for one channel.
            height: the input's height.
            width: the input's width.
            channels: the input's channels.
        """
        seen = self.frame(picture, height, width)
        found = np.asarray(seen, np.uint8).reshape(height, width, channels)
        return np.ascontiguousarray(found[..., ::-1]) if self.order == "bgr" else found

    def read(
        self,
        file: str | os.PathLike[str] | IO[bytes],
        info: TensorInfo,
        normalization: Normalization | None,
        name: str = "",
    ) -> np.ndarray:
        """Return a picture file as a model's input.

        Args:
            file: as for ``open_picture``.
            info: the input.
            normalization: the real values of pixels, as ``normalization_of`` decides.
            name: as for ``open_picture``.

        Raises:
            QnnError: if the input takes no picture or a larger one, or the file is not a picture.
        """
        height, width, channels = picture_shape(info)
        self.check(height, width)
        picture = open_picture(file, "RGB" if channels == 3 else "L", name)
        return as_input(self.pixels(picture, height, width, channels), info, normalization)
