"""Pictures in requests: the bytes of JPEG and PNG files."""

import base64
import binascii
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from io import BytesIO
from typing import Any

import numpy as np

from frontends.summary import Description
from qnn_ops.dialect.tensor_info import TensorInfo
from qnn_ops.errors import QnnError
from tvm_qnn.io.images import picture_shape, pillow
from tvm_qnn.io.normalization import normalization_of
from tvm_qnn.io.preparation import Preparation

FORMATS = ("JPEG", "PNG")
"""The formats of pictures, by Pillow's names."""

MOST_PIXELS = 1 << 26
"""The most pixels of a picture: a small file may hold a picture that takes gigabytes."""


@dataclass(frozen=True)
class Pictures:
    """Turns the pictures of requests into a model's inputs.

    Attributes:
        preparation: how they are cut, resized and normalized.
        descriptions: what the model's file states about its inputs, by name.
    """

    preparation: Preparation = field(default_factory=Preparation)
    descriptions: Mapping[str, Description] = field(default_factory=dict)

    def read(self, tensor: Any, info: TensorInfo) -> np.ndarray:
        """Return a tensor's pictures as an input, one row for each.

        Args:
            tensor: MLServer's, with ``shape`` and ``data``: files as bytes or as base64 text.
            info: the input.

        Raises:
            QnnError: if there is no picture, or the input does not take pictures.
        """
        what = f"input {info.name!r}"
        data = getattr(tensor.data, "root", tensor.data)
        files = data if isinstance(data, list) else [data]
        if not files or math.prod(tensor.shape) != len(files):
            raise QnnError(f"{what} has shape {[*tensor.shape]}, but {len(files)} pictures")
        return np.concatenate([self._row(_content(file, what), info) for file in files])

    def _row(self, content: bytes, info: TensorInfo) -> np.ndarray:
        row, what = replace(info, shape=(1, *info.shape[1:])), f"input {info.name!r}"
        # ``read`` checks the input again; here its errors come before those of the file.
        self.preparation.check(*picture_shape(row)[:2])
        _check_size(content, what)
        normalization = normalization_of(
            info, self.descriptions.get(info.name), self.preparation.normalization
        )
        return self.preparation.read(BytesIO(content), row, normalization, what)


def takes_pictures(info: TensorInfo) -> bool:
    """Tell whether an input takes pictures, one or several."""
    try:
        picture_shape(replace(info, shape=(1, *info.shape[1:])))
    except QnnError:
        return False
    return info.dtype in ("uint8", "int8", "float32")


def _content(file: Any, what: str) -> bytes:
    """Return a picture's file from bytes, or from the base64 text that JSON holds."""
    if isinstance(file, bytes):
        return file
    try:
        return base64.b64decode(file, validate=True)
    except (TypeError, ValueError, binascii.Error) as error:
        raise QnnError(f"{what}: a picture in JSON is text in base64: {error}") from None


def _check_size(content: bytes, what: str) -> None:
    """Check the format and the size of a picture, from its first bytes."""
    image_module = pillow()
    try:
        with image_module.open(BytesIO(content), formats=FORMATS) as image:
            width, height = image.size
    except Exception as error:  # see ``open_picture``
        raise QnnError(f"{what} takes pictures, but the bytes are no JPEG and no PNG") from error
    if width * height > MOST_PIXELS:
        size = f"{width}×{height}"
        raise QnnError(f"{what} takes pictures of at most {MOST_PIXELS:,} pixels, got {size}")
