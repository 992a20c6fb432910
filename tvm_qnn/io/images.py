"""Pictures as a model's input."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np

from qnn_ops.encoding import Encoding, dequantize_array
from qnn_ops.errors import QnnError
from qnn_ops.tensor_info import TensorInfo

if TYPE_CHECKING:
    from PIL.Image import Image

    from frontends.descriptions import Description
    from frontends.tflite.model import Model

Array = np.ndarray[Any, Any]

_CHANNELS = (1, 3)
_BITS_OF_DATA, _NUMBERS = 16, (0, 127)  # wider integers number or count something


def read_picture(path: str | os.PathLike[str], height: int, width: int, channels: int) -> Array:
    """Read a picture file, at the size a model wants.

    Args:
        path: of a file in any format that Pillow reads.
        height: the height to which the whole picture is scaled (bilinear), whatever its shape.
        width: the width to which it is scaled.
        channels: 1 for grey, 3 for red, green and blue.

    Returns:
        uint8 of shape [height, width, channels].

    Raises:
        QnnError: if Pillow is not installed, or the file is missing or no picture.
    """
    picture = open_picture(path, "RGB" if channels == 3 else "L")
    from PIL.Image import Resampling

    scaled = picture.resize((width, height), Resampling.BILINEAR)
    return np.asarray(scaled, np.uint8).reshape(height, width, channels)


def open_picture(path: str | os.PathLike[str], mode: str = "RGB") -> Image:
    """Read a picture file, at its own size.

    Args:
        path: of a file in any format that Pillow reads.
        mode: "RGB", or "L" for grey.

    Raises:
        QnnError: if Pillow is not installed, or the file is missing or no picture.
    """
    try:
        from PIL import Image, UnidentifiedImageError
    except ImportError as error:
        raise QnnError("reading pictures needs Pillow: pip install pillow") from error
    try:
        with Image.open(path) as image:
            return image.convert(mode)
    except UnidentifiedImageError as error:
        raise QnnError(f"{os.fspath(path)} is not a picture that Pillow can read") from error
    except Exception as error:
        # For damaged files Pillow's formats raise SyntaxError, DecompressionBombError and others.
        raise QnnError(f"cannot read the picture {os.fspath(path)}: {error}") from error


def picture_shape(info: TensorInfo) -> tuple[int, int, int]:
    """Return height, width and channels of the one picture that an input takes.

    Raises:
        QnnError: if the input's shape is not [1, height, width, 1 or 3], as TFLite has it, or
            [1, 1 or 3, height, width], as MXNet does.
    """
    if _is_channels_first(info):
        _, channels, height, width = info.shape
        return height, width, channels
    if len(info.shape) != 4 or info.shape[0] != 1 or info.shape[3] not in _CHANNELS:
        raise QnnError(
            f"input {info.name!r} of shape {info.shape} does not take one picture: "
            "that needs (1, height, width, 1 or 3) or (1, 1 or 3, height, width)"
        )
    return info.shape[1:]


def _is_channels_first(info: TensorInfo) -> bool:
    """Tell whether the channels of a picture come first; never where they may come last."""
    return (
        len(info.shape) == 4
        and info.shape[0] == 1
        and info.shape[1] in _CHANNELS
        and info.shape[3] not in _CHANNELS
    )


def as_input(
    pixels: Array,
    info: TensorInfo,
    quantized_to: Encoding | None = None,
    description: Description | None = None,
) -> Array:
    """Return a picture in the layout, dtype and encoding of a model's input.

    The integers of an 8-bit input cover the range that pictures have in the model's training,
    whatever it was: [0, 1], [-1, 1], [0, 255] or a normalised one. So the lowest of them stands
    for black and the highest for white, up to half a step.

    Args:
        pixels: uint8 [height, width, channels].
        info: the input, of shape [1, height, width, channels] or [1, channels, height, width] and
            dtype uint8, int8 or float32.
        quantized_to: the encoding to which the model itself quantizes a float32 input; without
            it, pixels become reals from -1 to 1.
        description: what the model's file tells of the input; its mean and deviation count for a
            float32 input.

    Raises:
        QnnError: if the shape or dtype does not fit.
    """
    if pixels.shape != picture_shape(info):
        raise QnnError(f"input {info.name!r} takes {info.shape}, got a picture {pixels.shape}")
    if info.dtype == "float32" and description is not None and description.mean:
        mean, std = (np.array(each, np.float32) for each in (description.mean, description.std))
        if max(mean.size, std.size) > pixels.shape[2]:
            raise QnnError(
                f"input {info.name!r} takes a grey picture, but the model's metadata normalizes "
                f"{max(mean.size, std.size)} channels"
            )
        values = (pixels.astype(np.float32) - mean) / std
    else:
        values = _values(pixels, info, quantized_to)
    return np.ascontiguousarray(
        (values.transpose(2, 0, 1) if _is_channels_first(info) else values)[None]
    )


def _values(pixels: Array, info: TensorInfo, quantized_to: Encoding | None) -> Array:
    if info.dtype == "uint8":
        return pixels
    if info.dtype == "int8":
        return (pixels ^ np.uint8(128)).view(np.int8)
    if info.dtype != "float32":
        raise QnnError(f"input {info.name!r} of dtype {info.dtype} does not take a picture")
    if quantized_to is None:
        return pixels.astype(np.float32) / np.float32(127.5) - np.float32(1)
    inner = TensorInfo(info.name, info.shape, quantized_to.dtype)
    return dequantize_array(_values(pixels, inner, None), quantized_to).astype(np.float32)


def noise(info: TensorInfo, seed: int = 0) -> Array:
    """Draw random values for any input.

    All integers of 8 and 16 bits, reals from -1 to 1, and truth values. Integers of 32 and 64 bits
    are from 0 to 127: they number words and places, or count the turns of a loop.
    """
    rng = np.random.default_rng(seed)
    dtype = np.dtype(info.dtype)
    if np.issubdtype(dtype, np.floating):
        return rng.uniform(-1, 1, info.shape).astype(dtype)
    if dtype == np.bool_:
        return rng.integers(0, 2, info.shape).astype(dtype)
    limits = np.iinfo(dtype)
    low, high = (limits.min, limits.max) if limits.bits <= _BITS_OF_DATA else _NUMBERS
    return rng.integers(low, high, info.shape, dtype, endpoint=True)


def encoding_after(graph: Model, index: int) -> Encoding | None:
    """Return the encoding to which a model first quantizes a tensor; None if it does not.

    Args:
        graph: the model.
        index: of the tensor, for instance a float32 input.
    """
    for operator in graph.operators:
        if operator.code == "QUANTIZE" and operator.inputs[0] == index:
            result = graph.tensors[operator.outputs[0]]
            if result.quantization is not None and result.dtype in ("uint8", "int8"):
                scale, zero_point = result.quantization.scale, result.quantization.zero_point
                return Encoding(float(scale[0]), int(zero_point[0]), result.dtype)
    return None
