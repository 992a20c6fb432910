"""TFLite's metadata, and files after the end of a model, made for a test."""

import io
import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import flatbuffers
import numpy as np

IDENTIFIER = b"M001"


@dataclass(frozen=True)
class Tensor:
    """What metadata says of a tensor; slots and numbers are those of metadata_schema.fbs."""

    files: Sequence[tuple[str, int]] = ()  # names and types
    threshold: float | None = None
    mean: Sequence[float] = ()
    std: Sequence[float] = ()


def metadata(inputs: Sequence[Tensor] = (), outputs: Sequence[Tensor] = ()) -> bytes:
    """Return a flatbuffer of metadata."""
    builder = flatbuffers.Builder(0)
    ends = [_vector(builder, [_tensor(builder, each) for each in end]) for end in (inputs, outputs)]
    graph = _table(builder, {2: ends[0], 3: ends[1]})
    builder.Finish(_table(builder, {3: _vector(builder, [graph])}), IDENTIFIER)
    return bytes(builder.Output())


def with_files(model: bytes, files: Mapping[str, bytes], **options: Any) -> bytes:
    """Return a model with a zip archive after its end."""
    archive = io.BytesIO(model)
    with zipfile.ZipFile(archive, "a", **options) as packed:
        for name, content in files.items():
            packed.writestr(name, content)
    return archive.getvalue()


def _tensor(builder: Any, tensor: Tensor) -> int:
    units = []
    if tensor.mean or tensor.std:
        parts = [
            builder.CreateNumpyVector(np.array(each, np.float32))
            for each in (tensor.mean, tensor.std)
        ]
        units.append(_unit(builder, 1, _table(builder, {0: parts[0], 1: parts[1]})))
    if tensor.threshold is not None:
        builder.StartObject(1)
        builder.PrependFloat32Slot(0, tensor.threshold, 0.0)
        units.append(_unit(builder, 3, builder.EndObject()))
    files = [_file(builder, *each) for each in tensor.files]
    return _table(builder, {4: _vector(builder, units), 6: _vector(builder, files)})


def _unit(builder: Any, kind: int, options: int) -> int:
    return _table(builder, {1: options}, lambda: builder.PrependUint8Slot(0, kind, 0))


def _file(builder: Any, name: str, kind: int) -> int:
    text = builder.CreateString(name)
    return _table(builder, {0: text}, lambda: builder.PrependInt8Slot(2, kind, 0))


def _vector(builder: Any, offsets: Sequence[int]) -> int:
    builder.StartVector(4, len(offsets), 4)
    for offset in reversed(offsets):
        builder.PrependUOffsetTRelative(offset)
    return int(builder.EndVector())


def _table(builder: Any, offsets: Mapping[int, int], add: Callable[[], None] | None = None) -> int:
    builder.StartObject(8)
    for slot, offset in offsets.items():
        builder.PrependUOffsetTRelativeSlot(slot, offset, 0)
    if add is not None:
        add()
    return int(builder.EndObject())
