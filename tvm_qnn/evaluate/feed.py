"""Turns a sample into the inputs of a model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from frontends.summary import Description
from qnn_ops.dialect.tensor_info import TensorInfo
from qnn_ops.errors import QnnError
from tvm_qnn.evaluate.samples import Sample
from tvm_qnn.evaluate.sources import LABELS
from tvm_qnn.io.arrays import fitted, read_archive
from tvm_qnn.io.images import as_input, open_picture, picture_shape
from tvm_qnn.io.normalization import Normalization, normalization_of
from tvm_qnn.io.preparation import Preparation

if TYPE_CHECKING:
    from PIL.Image import Image


@dataclass(frozen=True)
class Feed:
    """Makes a model's inputs.

    Attributes:
        infos: the inputs.
        preparation: how pictures are cut, resized and normalized.
        normalization: the real values of pixels; None for integers that cover the pictures' range.
    """

    infos: tuple[TensorInfo, ...]
    preparation: Preparation
    normalization: Normalization | None

    @staticmethod
    def of(
        infos: tuple[TensorInfo, ...],
        descriptions: Mapping[int, Description],
        preparation: Preparation,
    ) -> Feed:
        """Make the feed of a model; ``normalization_of`` decides the real values of pixels."""
        normalization = None
        if len(infos) == 1:
            given = preparation.normalization
            normalization = normalization_of(infos[0], descriptions.get(0), given)
        return Feed(infos, preparation, normalization)

    def check(self, sample: Sample) -> None:
        """Check that samples of this kind fit the inputs, before anything is compiled.

        Raises:
            QnnError: if they do not.
        """
        if sample.row is not None:
            self.arrays(sample)
            return
        if len(self.infos) != 1:
            raise QnnError(
                f"the model has {len(self.infos)} inputs: data for it is an .npz file that has an "
                "array for each, by its name"
            )
        height, width, _ = picture_shape(self.infos[0])
        self.preparation.check(height, width)
        self.arrays(sample)

    def arrays(self, sample: Sample) -> list[np.ndarray]:
        """Return the inputs for a sample.

        Raises:
            QnnError: if it cannot be read or does not fit; the message names it.
        """
        try:
            if sample.row is None:
                return [self.preparation.read(sample.path, self.infos[0], self.normalization)]
            rows = self._rows(sample.path)
            return [self._fitted(rows[info.name][sample.row], info) for info in self.infos]
        except QnnError as error:
            told = str(error)
            known = sample.where == str(sample.path) and sample.where in told
            raise QnnError(told if known else f"{sample.where}: {told}") from error

    def truth(self, sample: Sample, height: int, width: int) -> np.ndarray:
        """Return the class of each pixel that the model sees, from a sample's mask [height, width].

        Raises:
            QnnError: if it cannot be read.
        """
        from PIL import Image

        assert sample.mask is not None
        try:
            with Image.open(sample.mask) as mask:
                if mask.mode not in ("P", "L", "1", "I;16", "I"):
                    raise QnnError(f"a mask has a class in each pixel, this one {mask.mode}")
                seen = Image.fromarray(np.asarray(mask).astype(np.int32))
        except QnnError as error:
            raise QnnError(f"{sample.mask}: {error}") from None
        except Exception as error:  # Pillow raises errors of many classes
            raise QnnError(f"{sample.mask} is not a picture that Pillow can read") from error
        size = picture_shape(self.infos[0])[:2]
        seen = self.preparation.frame(seen, *size, smooth=False)
        if size != (height, width):
            from PIL.Image import Resampling

            seen = seen.resize((width, height), Resampling.NEAREST)
        return np.asarray(seen).astype(np.int64)

    def picture(self, sample: Sample) -> Image:
        """Return a sample as a picture for a person, at least as large as the model sees it.

        Raises:
            QnnError: if the sample is not a picture.
        """
        from PIL import Image

        if sample.row is None:
            return open_picture(sample.path)
        row = self._rows(sample.path)[self.infos[0].name][sample.row]
        height, width, channels = picture_shape(self.infos[0])
        if row.size != height * width * channels:
            raise QnnError(f"{sample.where} is no picture")
        array = row.reshape(height, width, channels).astype(np.float64)
        low, high = array.min(), array.max()
        grey = ((array - low) * (255 / max(high - low, 1e-9))).astype(np.uint8)
        return Image.fromarray(grey[..., 0] if channels == 1 else grey).convert("RGB")

    def _rows(self, path: Path) -> dict[str, np.ndarray]:
        """Return the arrays of an archive by the names of the inputs.

        Arrays that were read are kept, and go with this object to other processes.
        """
        path = path.absolute()
        if path not in self._archives:
            arrays = {key: each for key, each in read_archive(path).items() if key not in LABELS}
            names = [info.name for info in self.infos]
            if len(names) == len(arrays) == 1:
                arrays = dict(zip(names, arrays.values(), strict=True))
            if missing := [name for name in names if name not in arrays]:
                raise QnnError(
                    f"it has no array for input {missing[0]!r}; it has {', '.join(arrays)}"
                )
            self._archives[path] = arrays
        return self._archives[path]

    @cached_property
    def _archives(self) -> dict[Path, dict[str, np.ndarray]]:
        return {}

    def takes_pixels(self, sample: Sample) -> bool:
        """Tell whether a sample is a picture whose pixels are normalized.

        Raises:
            QnnError: if it cannot be read.
        """
        if sample.row is None:
            return True
        rows = self._rows(sample.path)
        return any(self._is_picture(rows[info.name][sample.row], info) for info in self.infos)

    def _is_picture(self, row: np.ndarray, info: TensorInfo) -> bool:
        if row.dtype != np.uint8 or len(self.infos) != 1 or row.ndim not in (2, 3):
            return False
        try:
            _, _, channels = picture_shape(info)
        except QnnError:
            return False
        return channels == (1 if row.ndim == 2 else row.shape[2])

    def _fitted(self, row: np.ndarray, info: TensorInfo) -> np.ndarray:
        """Bring a row to an input: prepare the bytes of a picture, leave all others as they are."""
        if not self._is_picture(row, info):
            return fitted(row, info)
        from PIL import Image

        picture = Image.fromarray(row[..., 0] if row.shape[2:] == (1,) else row)
        pixels = self.preparation.pixels(picture, *picture_shape(info))
        return as_input(pixels, info, self.normalization)
