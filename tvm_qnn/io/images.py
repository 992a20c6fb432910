"""Reads pictures as a model's input."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from types import ModuleType
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from qnn_ops.dialect.tensor_info import TensorInfo
from qnn_ops.errors import QnnError
from tvm_qnn.io.normalization import Normalization, normalized

if TYPE_CHECKING:
    from PIL.Image import Image

_CHANNELS = (1, 3)
_NARROW = 16  # pixels of a grey picture that may be narrow, such as a line of text
_WHITE_OF_16_BITS = 65535
_USUAL: dict[str, Callable[[tuple[int, ...]], Any]] = {
    r"(attention|input|padding)_?mask|^mask": lambda _: 1,
    r"(token_type|segment)_?ids": lambda _: 0,
    r"position_?ids": lambda shape: np.arange(shape[-1] if shape else 1),
}
"""Usual elements of an input whose name has this pattern, as a function of its shape."""
_BITS_OF_DATA, _NUMBERS = 16, (0, 1)  # wider integers are indices or counts


def pillow() -> ModuleType:
    """Return Pillow's module of pictures.

    Raises:
        QnnError: if it is not installed.
    """
    try:
        from PIL import Image
    except ImportError as error:
        raise QnnError("reading pictures needs Pillow: pip install pillow") from error
    return Image


def open_picture(
    path: str | os.PathLike[str] | IO[bytes], mode: str = "RGB", name: str = ""
) -> Image:
    """Read a picture file at its own size, turned upright as its EXIF data say.

    Args:
        path: a file in any format that Pillow reads, or a stream of its bytes. Grey of 16 bits
            is brought to 8.
        mode: "RGB", or "L" for grey.
        name: the name in errors; by default the path.

    Raises:
        QnnError: if Pillow is not installed, the file is missing or not a picture, or its pixels
            have 32 bits: no format says which of these numbers is white.
    """
    module = pillow()
    from PIL import ImageOps, UnidentifiedImageError

    name = name or str(path)
    try:
        with module.open(path) as image:
            return _in_eight_bits(ImageOps.exif_transpose(image)).convert(mode)
    except QnnError as error:
        raise QnnError(f"cannot read the picture {name}: {error}") from None
    except UnidentifiedImageError as error:
        raise QnnError(f"{name} is not a picture that Pillow can read") from error
    except Exception as error:
        # Pillow's formats raise SyntaxError, DecompressionBombError and others for damaged files.
        raise QnnError(f"cannot read the picture {name}: {error}") from error


def _in_eight_bits(image: Image) -> Image:
    """Bring grey of more than 8 bits to 8; Pillow's own conversion cuts off values above 255."""
    from PIL.Image import fromarray

    if not image.mode.startswith(("I", "F")):
        return image
    values = np.asarray(image)
    if image.mode == "F" or values.min(initial=0) < 0 or values.max(initial=0) > _WHITE_OF_16_BITS:
        raise QnnError(
            f"its pixels have 32 bits ({values.min():g} to {values.max():g}), and nothing says "
            "which number is white: save it with 8 or 16 bits"
        )
    return fromarray(np.rint(values * (255 / _WHITE_OF_16_BITS)).astype(np.uint8))


def picture_shape(info: TensorInfo) -> tuple[int, int, int]:
    """Return height, width and channels of an input that takes one picture.

    Raises:
        QnnError: if the input's shape is neither [1, height, width, 1 or 3], as in TFLite, nor
            [1, 1 or 3, height, width], as in MXNet; or if it is too small or narrow for a picture.
    """
    if _is_channels_first(info):
        _, channels, height, width = info.shape
    elif len(info.shape) != 4 or info.shape[0] != 1 or info.shape[3] not in _CHANNELS:
        raise QnnError(
            f"input {info.name!r} of shape {info.shape} does not take one picture: "
            "that needs (1, height, width, 1 or 3) or (1, 1 or 3, height, width)"
        )
    else:
        _, height, width, channels = info.shape
    if (
        channels == 1
        and min(height, width) < _NARROW
        and max(height, width) > 2 * min(height, width)
    ):
        raise QnnError(
            f"input {info.name!r} takes {height} × {width} numbers, such as the features of a "
            "sound, not a picture: give them as a .npy file"
        )
    return height, width, channels


def _is_channels_first(info: TensorInfo) -> bool:
    """Tell whether the channels of a picture come first; False if they may come last."""
    return (
        len(info.shape) == 4
        and info.shape[0] == 1
        and info.shape[1] in _CHANNELS
        and info.shape[3] not in _CHANNELS
    )


def as_input(
    pixels: np.ndarray, info: TensorInfo, normalization: Normalization | None = None
) -> np.ndarray:
    """Return a picture in the layout, dtype and encoding of a model's input.

    Args:
        pixels: uint8 [height, width, channels].
        info: the input, of shape [1, height, width, channels] or [1, channels, height, width] and
            dtype uint8, int8 or float32.
        normalization: the real values of pixels, as ``normalization_of`` decides.

    Raises:
        QnnError: if the shape, the dtype or the normalization does not fit.
    """
    if pixels.shape != picture_shape(info):
        raise QnnError(f"input {info.name!r} takes {info.shape}, got a picture {pixels.shape}")
    values = normalized(pixels, info, normalization)
    return np.ascontiguousarray(
        (values.transpose(2, 0, 1) if _is_channels_first(info) else values)[None]
    )


def noise(info: TensorInfo, seed: int = 0) -> np.ndarray:
    """Draw random values for any input.

    All integers of 8 and 16 bits, reals from -1 to 1, and truth values. Integers of 32 and 64 bits
    are 0 or 1, since they may be indices in a short table, or counts of a loop's iterations.
    A transformer's other inputs get the values for a whole sentence: a mask of ones, one
    segment, ascending positions.
    """
    for pattern, usual in _USUAL.items():
        if re.search(pattern, info.name):
            return np.array(np.broadcast_to(usual(info.shape), info.shape), info.dtype)
    rng = np.random.default_rng(seed)
    dtype = np.dtype(info.dtype)
    if np.issubdtype(dtype, np.floating):
        return rng.uniform(-1, 1, info.shape).astype(dtype)
    if dtype == np.bool_:
        return rng.integers(0, 2, info.shape).astype(dtype)
    limits = np.iinfo(dtype)
    low, high = (limits.min, limits.max) if limits.bits <= _BITS_OF_DATA else _NUMBERS
    return rng.integers(low, high, info.shape, dtype, endpoint=True)
