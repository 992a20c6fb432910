"""Large constants beside a model's file: they stay there, and memory shows the file.

A model of more than 2 GB has them there, as no message of protobuf holds as much. Copies of the
model are then small, and so is what the package onnx gets of it.
"""

from __future__ import annotations

import os
import secrets
from math import prod
from typing import Any

import numpy as np

from frontends.errors import ModelFormatError
from frontends.onnx.read.package import copied, onnx_package

Array = np.ndarray[Any, Any]

_LEAST = 1 << 16
"""Bytes of a constant that stays in its file: sizes and axes, whose values decide, are fewer."""

_MOST_HELD = 1 << 30
"""Bytes of constants that a model may hold where it is made one message, beside all else."""

_MARK = f"{secrets.token_hex(16)}:"
"""Before the path of a file that this process looked for: no model's file can know it."""

_BITS = {"int4": 4, "uint4": 4, "float4_e2m1fn": 4, "int2": 2, "uint2": 2}


def map_constants(proto: Any, folder: str) -> None:
    """Take a model's external data: what is large stays where it is, as the file must, too.

    Args:
        proto: a model, which is changed.
        folder: that the model's file lies in.

    Raises:
        ModelFormatError: a file is not there, lies elsewhere, or is too short.
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
        text = " ".join(str(error).split())[:300] or type(error).__name__
        raise ModelFormatError(f"the model's external data: {text}") from None
    for tensor, entries in found:
        tensor.data_location = tensor.EXTERNAL
        for key, value in entries.items():
            entry = tensor.external_data.add()
            entry.key, entry.value = key, value


def is_external(tensor: Any) -> bool:
    """Tell whether a constant's values are in another file."""
    return bool(tensor.data_location == tensor.EXTERNAL)


def is_mapped(tensor: Any) -> bool:
    """Tell whether they are in one that ``map_constants`` found."""
    first = next(iter(tensor.external_data), None)
    return is_external(tensor) and first is not None and first.value.startswith(_MARK)


def mapped_array(tensor: Any) -> Array:
    """Return the values of a constant that is mapped; they are read from the file when used."""
    place, offset = (each.value for each in tensor.external_data)
    onnx, path, shape = onnx_package(), place.removeprefix(_MARK), tuple(tensor.dims)
    dtype = onnx.helper.tensor_dtype_to_np_dtype(tensor.data_type)
    if dtype.name not in _BITS:
        # Copies are made of the pages that someone writes to, and the file stays.
        return np.asarray(np.memmap(path, dtype, "c", int(offset), shape))
    content = np.memmap(path, np.uint8, "c", int(offset), (_bytes(dtype, shape),)).tobytes()
    packed = onnx.TensorProto(data_type=tensor.data_type, dims=shape, raw_data=content)
    return np.asarray(onnx.numpy_helper.to_array(packed))


def without_mapped(proto: Any) -> Any:
    """Return a copy in which what is mapped has no elements, for the package's checks."""
    result = copied(proto)
    for tensor in filter(is_mapped, result.graph.initializer):
        del tensor.external_data[:], tensor.dims[:]
        tensor.data_location, tensor.raw_data = tensor.DEFAULT, b""
        tensor.dims.append(0)
    return result


def with_data(proto: Any) -> Any:
    """Return a copy of a model that holds what is mapped, or the model itself if that is too large.

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
    """Return where a constant lies; nothing if it is small."""
    info = helper.ExternalDataInfo(tensor)
    dtype = onnx_package().helper.tensor_dtype_to_np_dtype(tensor.data_type)
    size, offset = _bytes(dtype, tensor.dims), int(info.offset or 0)
    if size < _LEAST or min(tensor.dims) < 0:
        return {}
    probe = copied(tensor)
    del probe.external_data[:]
    for key, value in (("location", info.location), ("offset", offset), ("length", 1)):
        entry = probe.external_data.add()
        entry.key, entry.value = key, str(value)
    helper.load_external_data_for_tensor(probe, folder)  # which says what is wrong with the place
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
