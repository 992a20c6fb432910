"""Large constants in files beside a model's file: the files are mapped into memory.

A model of more than 2 GB needs such files: a protobuf message cannot be larger. Copies of the model
are then small, and so is the message that the package onnx gets.
"""

import os
import secrets
from math import prod
from typing import Any

import numpy as np

from frontends.errors import ModelFormatError
from frontends.onnx.read.names import copied, line_of, onnx_package
from qnn_ops.arrays import Array

_LEAST = 1 << 16
"""The fewest bytes of a constant that stays in its file. Constants read at import are smaller."""

_MOST_HELD = 1 << 30
"""The most bytes of constants in a model that becomes one message, besides its other contents."""

_MARK = f"{secrets.token_hex(16)}:"
"""A prefix of the path of a file that this process checked. A model's file cannot contain it."""

_BITS = {"int4": 4, "uint4": 4, "float4_e2m1fn": 4, "int2": 2, "uint2": 2}


def map_constants(proto: Any, folder: str) -> None:
    """Load a model's external data. Large constants stay in their files, which must stay, too.

    Args:
        proto: a model; it is changed.
        folder: the folder of the model's file.

    Raises:
        ModelFormatError: a file is missing, lies outside of the folder, or is too short.
    """
    helper = onnx_package().external_data_helper
    try:
        found = [
            (tensor, entries)
            for tensor in proto.graph.initializer
            if is_external(tensor) and (entries := _entries(helper, tensor, folder))
        ]
        for tensor, _ in found:
            del tensor.external_data[:]
            tensor.data_location = tensor.DEFAULT
        helper.load_external_data_for_model(proto, folder)
    except Exception as error:  # of onnx.checker, OSError, ValueError, OverflowError
        raise ModelFormatError(f"the model's external data: {line_of(error)}") from None
    for tensor, entries in found:
        tensor.data_location = tensor.EXTERNAL
        for key, value in entries.items():
            tensor.external_data.add(key=key, value=value)


def is_external(tensor: Any) -> bool:
    """Tell whether a constant's values are in another file."""
    return bool(tensor.data_location == tensor.EXTERNAL)


def is_mapped(tensor: Any) -> bool:
    """Tell whether a constant's values are in a file that ``map_constants`` found."""
    first = next(iter(tensor.external_data), None)
    return is_external(tensor) and first is not None and first.value.startswith(_MARK)


def mapped_array(tensor: Any) -> Array:
    """Return the values of a mapped constant; they are read from the file on use."""
    location, offset = (each.value for each in tensor.external_data)
    onnx, path, shape = onnx_package(), location.removeprefix(_MARK), tuple(tensor.dims)
    dtype = onnx.helper.tensor_dtype_to_np_dtype(tensor.data_type)
    if dtype.name not in _BITS:
        # Mode "c" copies pages on write, so that the file does not change.
        return np.asarray(np.memmap(path, dtype, "c", int(offset), shape))
    content = np.memmap(path, np.uint8, "c", int(offset), (_bytes(dtype, shape),)).tobytes()
    packed = onnx.TensorProto(data_type=tensor.data_type, dims=shape, raw_data=content)
    return np.asarray(onnx.numpy_helper.to_array(packed))


def without_mapped(proto: Any) -> Any:
    """Return a copy whose mapped constants have no elements, for the package's checks."""
    result = copied(proto)
    for tensor in filter(is_mapped, result.graph.initializer):
        del tensor.external_data[:], tensor.dims[:]
        tensor.data_location, tensor.raw_data = tensor.DEFAULT, b""
        tensor.dims.append(0)
    return result


def with_data(proto: Any) -> Any:
    """Return a copy that contains its mapped constants, or the model itself if they are too large.

    See ``is_mapped``.
    """
    found = list(filter(is_mapped, proto.graph.initializer))
    if not 0 < sum(mapped_array(each).nbytes for each in found) < _MOST_HELD:
        return proto
    result = copied(proto)
    for tensor in filter(is_mapped, result.graph.initializer):
        tensor.CopyFrom(onnx_package().numpy_helper.from_array(mapped_array(tensor), tensor.name))
    return result


def _entries(helper: Any, tensor: Any, folder: str) -> dict[str, str]:
    """Return the place of a constant's values; nothing if the constant is small."""
    info = helper.ExternalDataInfo(tensor)
    dtype = onnx_package().helper.tensor_dtype_to_np_dtype(tensor.data_type)
    size, offset = _bytes(dtype, tensor.dims), int(info.offset or 0)
    if size < _LEAST or min(tensor.dims) < 0:
        return {}
    probe = copied(tensor)
    del probe.external_data[:]
    for key, value in (("location", info.location), ("offset", offset), ("length", 1)):
        probe.external_data.add(key=key, value=str(value))
    helper.load_external_data_for_tensor(probe, folder)  # raises if the place is wrong
    path = os.path.realpath(os.path.join(folder, info.location))
    there = os.stat(path).st_size - offset
    if size > there or (info.length and int(info.length) != size):
        raise ValueError(
            f"{tensor.name!r} needs {size:,} bytes, there are {there:,}, "
            f"of which {info.length or 'all'} are said to be its own"
        )
    return {"location": f"{_MARK}{path}", "offset": str(offset)}


def _bytes(dtype: Any, shape: Any) -> int:
    return (prod(shape) * _BITS.get(dtype.name, dtype.itemsize * 8) + 7) // 8
