"""The real values of a picture's pixels at a model's input."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from frontends.summary import Description
from qnn_ops.arithmetic.encoding import Encoding, quantize_array
from qnn_ops.dialect.tensor_info import TensorInfo
from qnn_ops.errors import QnnError

_WHITE = 255
_FLOAT = "float32"


@dataclass(frozen=True)
class Normalization:
    """The real value of a pixel: (pixel - mean) / std.

    Attributes:
        mean: on the scale from 0 to 255: one number, or one for each channel.
        std: on the same scale: one number, or one for each channel.
        reason: the source of these numbers, for a person.
        is_guess: whether they have no source.
    """

    mean: tuple[float, ...]
    std: tuple[float, ...]
    reason: str
    is_guess: bool = False

    @staticmethod
    def between(
        black: float, white: float, reason: str, *, is_guess: bool = False
    ) -> Normalization:
        """Return the normalization that takes black and white to two real numbers."""
        std = _WHITE / (white - black)
        return Normalization((-black * std,), (std,), reason, is_guess)

    def reals(self, pixels: np.ndarray, name: str) -> np.ndarray:
        """Return the real values of pixels, as float32 of the same shape.

        Args:
            pixels: uint8 [height, width, channels].
            name: the input's name, for the error.

        Raises:
            QnnError: if it has numbers for another number of channels.
        """
        for numbers in (self.mean, self.std):
            if len(numbers) not in (1, pixels.shape[2]):
                raise QnnError(
                    f"input {name!r} takes pictures of {pixels.shape[2]} channels, but "
                    f"{self.reason} normalizes {len(numbers)}"
                )
        mean, std = (np.array(numbers, np.float64) for numbers in (self.mean, self.std))
        return ((pixels - mean) / std).astype(np.float32)

    def describe(self) -> str:
        """Name the real values of black and white, and the source of the normalization."""
        count = max(len(self.mean), len(self.std))
        ends = np.broadcast_to(np.array([[0.0], [_WHITE]]), (2, count))
        reals = (ends - self.mean) / self.std
        black, white = (", ".join(f"{real:.4g}" for real in row) for row in reals)
        return f"black is {black} and white {white}: {self.reason}"

    def tell(self, what: str, say: Callable[[str], object] | None) -> None:
        """Say the real values of pixels at an input, or warn if they are a guess."""
        told = f"{what}: {self.describe()}"
        if self.is_guess:
            warnings.warn(f"{told}; --mean and --std say it", stacklevel=3)
        elif say is not None:
            say(told)


def normalization_of(
    info: TensorInfo, description: Description | None = None, given: Normalization | None = None
) -> Normalization | None:
    """Decide the real values of pixels at an input.

    A person's numbers have priority. Otherwise a float32 input is normalized as the model's file
    says. If it says nothing, black and white are the ends of the range to which the model quantizes
    the input or, if it does not quantize it, -1 and 1.

    Args:
        info: the input.
        description: the input's description in the model's file.
        given: a person's normalization.

    Returns:
        None for an input of 8-bit integers without a description. Such integers cover the range
        of pictures in the model's training, whatever it was: [0, 1], [-1, 1], [0, 255] or a
        normalized one. So the lowest integer stands for black and the highest for white, up to
        half a step.
    """
    if given is not None:
        return given
    if info.dtype != _FLOAT:
        return None
    if description is not None and description.mean:
        return Normalization(description.mean, description.std, "the model's metadata")
    if info.low is not None and info.high is not None:
        reason = "the range that the model quantizes this input to"
        return Normalization.between(info.low, info.high, reason)
    return Normalization.between(-1, 1, "nothing in the model says otherwise", is_guess=True)


def normalized(
    pixels: np.ndarray, info: TensorInfo, normalization: Normalization | None
) -> np.ndarray:
    """Return pixels as values of an input's dtype.

    Args:
        pixels: uint8 [height, width, channels].
        info: the input, of dtype uint8, int8 or float32.
        normalization: as ``normalization_of`` decides.

    Raises:
        QnnError: if the dtype is not a picture's, or the normalization does not fit.
    """
    if info.dtype not in ("uint8", "int8", _FLOAT):
        raise QnnError(f"input {info.name!r} of dtype {info.dtype} does not take a picture")
    if normalization is None:
        return pixels if info.dtype == "uint8" else (pixels ^ np.uint8(128)).view(np.int8)
    reals = normalization.reals(pixels, info.name)
    if info.dtype == _FLOAT:
        return reals
    if info.scale is None or info.zero_point is None:
        raise QnnError(f"input {info.name!r} has no scale that tells what its integers stand for")
    return quantize_array(reals, Encoding(info.scale, info.zero_point, info.dtype))
