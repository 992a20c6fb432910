"""Reads and writes arrays in numpy's files."""

import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from qnn_ops.arithmetic.encoding import Encoding, quantize_array
from qnn_ops.dialect.tensor_info import TensorInfo
from qnn_ops.errors import QnnError
from tvm_qnn.io.outputs import replacing

_BEGINNINGS = (b"\x93NUMPY", b"PK")


def read_array(path: Path) -> np.ndarray:
    """Read a .npy file.

    Raises:
        QnnError: if it is missing, damaged or not such a file.
    """
    found = _read(path, "array")
    if isinstance(found, dict):
        raise QnnError(f"{path} is an archive of arrays: its name must end in .npz")
    return found


def read_archive(path: Path) -> dict[str, np.ndarray]:
    """Read the arrays of a .npz file, by name.

    Raises:
        QnnError: if it is missing, damaged or not such a file.
    """
    found = _read(path, "archive")
    if not isinstance(found, dict):
        raise QnnError(f"{path} is one array: its name must end in .npy")
    return found


def write_archive(path: Path, arrays: Mapping[str, np.ndarray]) -> None:
    """Write arrays with any names to a .npz file.

    Raises:
        QnnError: if it cannot be written.
    """
    # numpy.savez has a parameter "file", so that it cannot write an array with that name.
    with replacing(path) as part, zipfile.ZipFile(part, "w") as archive:
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as file:
                np.lib.format.write_array(file, array, allow_pickle=False)


def fitted(array: np.ndarray, info: TensorInfo) -> np.ndarray:
    """Return an array with an input's shape and dtype.

    A missing first dimension of 1 is added; reals for a quantized input are quantized.

    Raises:
        QnnError: if the array does not fit.
    """
    if info.takes((1, *array.shape)):
        array = array[None]
    if not info.takes(array.shape):
        raise QnnError(f"input {info.name!r} has shape {info.shape}, got {array.shape}")
    if str(array.dtype) == info.dtype:
        return array
    if array.dtype.kind == "f" and info.dtype.startswith("float"):
        return array.astype(info.dtype)
    if array.dtype.kind == "f" and info.scale is not None and info.zero_point is not None:
        encoding = Encoding(info.scale, info.zero_point, info.dtype)
        return quantize_array(array.astype(np.float32), encoding)
    raise QnnError(f"input {info.name!r} takes {info.dtype}, got {array.dtype}")


def _read(path: Path, kind: str) -> np.ndarray | dict[str, np.ndarray]:
    if not path.is_file():
        raise QnnError(f"there is no file {path}")
    with path.open("rb") as file:
        # Numpy takes any other file for pickled objects, and its error explains how to load them.
        if not file.read(6).startswith(_BEGINNINGS):
            raise QnnError(f"{path} is no .npy or .npz file")
    try:
        found = np.load(path, allow_pickle=False)
        if isinstance(found, np.ndarray):
            return found
        with found:
            return {name: _array(name, found[name]) for name in found.files}
    except Exception as error:
        # Numpy, zipfile, zlib and tokenize raise any of a dozen classes for a damaged file,
        # SyntaxError and MemoryError among them. Which one depends on the damaged byte.
        reason = str(error) or type(error).__name__
        raise QnnError(f"{path} is not an {kind} that numpy can read: {reason}") from error


def _array(name: str, found: Any) -> np.ndarray:
    """Read one array of an archive. Numpy returns the bytes of a member that is not an array."""
    if not isinstance(found, np.ndarray):
        raise ValueError(f"{name!r} in it is no array")
    return found
