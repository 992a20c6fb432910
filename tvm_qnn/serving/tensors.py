"""Converts tensors of the Open Inference Protocol to arrays and back."""

import math
from typing import Any

import numpy as np

from qnn_ops.errors import QnnError

TEXT = "BYTES"
"""The datatype of texts and bytes."""


def datatype_of(dtype: str) -> str:
    """Return the protocol's name of a dtype: "FP32" for "float32"."""
    return dtype.upper().replace("FLOAT", "FP")


_NAMES = ("bool", *(f"{sign}int{bits}" for sign in ("u", "") for bits in (8, 16, 32, 64)))
_DTYPES = {datatype_of(name): np.dtype(name) for name in (*_NAMES, *("float16", "float32"))}
_DTYPES["FP64"] = np.dtype("float64")

# For each kind of dtype: the kinds of numbers in a request that it takes.
_KINDS = {"b": "b", "i": "iu", "u": "iu", "f": "iuf"}


def read_tensor(tensor: Any) -> np.ndarray:
    """Return an input of a request as an array of the stated datatype.

    Args:
        tensor: MLServer's, with ``name``, ``datatype``, ``shape`` and ``data``: a list of numbers,
            or of lists of them as the shape says.

    Raises:
        QnnError: if its datatype is not a number's, or its data have another type, hold NaN, or do
            not fill its shape.
    """
    what, datatype = f"input {tensor.name!r}", str(tensor.datatype)
    dtype = _DTYPES.get(datatype)
    if dtype is None:
        raise QnnError(f"{what} has datatype {datatype}, which is none of {', '.join(_DTYPES)}")
    found = _numbers(getattr(tensor.data, "root", tensor.data), what)
    shape = tuple(tensor.shape)
    if min(shape, default=0) < 0 or found.size != math.prod(shape):
        raise QnnError(f"{what} has shape {[*shape]}, but {found.size} numbers")
    if found.ndim != 1 and found.shape != shape:
        raise QnnError(f"{what} has shape {[*shape]}, but its data have {[*found.shape]}")
    if found.size:
        _check_values(found, dtype, f"{what} is {datatype}, but")
    with np.errstate(over="ignore"):  # values that are too large become infinite
        array = found.astype(dtype).reshape(shape)
    if dtype.kind == "f" and np.isnan(array).any():
        raise QnnError(f"{what} has NaN")
    return array


def tensor_fields(name: str, array: np.ndarray) -> dict[str, Any]:
    """Return an output of an answer as MLServer's fields, with texts or numbers."""
    datatype = TEXT if array.dtype.kind == "U" else datatype_of(str(array.dtype))
    data = array.ravel().tolist()
    return {"name": name, "shape": [*array.shape], "datatype": datatype, "data": data}


def _numbers(data: Any, what: str) -> np.ndarray:
    """Return the data as an array, with the dtype that numpy chooses."""
    try:
        return np.array(data if isinstance(data, list) else list(data))
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise QnnError(f"{what} has data that are no array of numbers: {error}") from error


def _check_values(found: np.ndarray, dtype: np.dtype[Any], what: str) -> None:
    """Check that numbers fit a dtype without rounding or wrapping, and were not texts."""
    if found.dtype.kind not in _KINDS[dtype.kind]:
        raise QnnError(f"{what} has data that are none, such as null, a text or another type")
    if dtype.kind in "iu":
        info, low, high = np.iinfo(dtype), int(found.min()), int(found.max())
        if low < info.min or high > info.max:
            raise QnnError(f"{what} has numbers from {low} to {high}")
