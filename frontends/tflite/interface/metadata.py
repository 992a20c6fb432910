"""Reads the metadata of a TFLite file, and the label files that are packed after its end.

A buffer of the file holds a second flatbuffer, which the file names "TFLITE_METADATA"; its schema
is metadata_schema.fbs of TensorFlow Lite Support. It names files of a zip archive, whose bytes
follow the model's. A run does not need the metadata: damaged parts are left out, with a note.
"""

from __future__ import annotations

import io
import os
import zipfile
from collections.abc import Sequence
from math import isfinite
from pathlib import Path
from typing import Any

import tflite

from frontends.errors import ModelFormatError
from frontends.summary import Description, Descriptions
from frontends.tflite.file_names import METADATA
from frontends.tflite.flatbuffer import Slots, Table

IDENTIFIER = b"M001"

# Slots of the schema's tables.
_MODEL_SUBGRAPHS = 3
_SUBGRAPH_INPUTS, _SUBGRAPH_OUTPUTS = 2, 3
_TENSOR_UNITS, _TENSOR_FILES = 4, 6
_FILE_NAME, _FILE_TYPE = 0, 2
_UNIT_TYPE, _UNIT_OPTIONS = 0, 1
_MEAN, _STD = 0, 1
_THRESHOLD = 0

_LABELS = (2, 3)  # TENSOR_AXIS_LABELS and TENSOR_VALUE_LABELS
_NORMALIZATION, _THRESHOLDING = 1, 3  # ProcessUnitOptions
_MOST = 1 << 22  # bytes of all label files


def read_metadata(model: bytes | bytearray | memoryview | str | os.PathLike[str]) -> Descriptions:
    """Read a TFLite file's descriptions of its inputs and outputs.

    Args:
        model: the file's bytes or its path.

    Returns:
        The descriptions; none if there is no metadata. Its notes name the parts that are damaged.

    Raises:
        OSError: the path cannot be read.
    """
    content = Path(model).read_bytes() if isinstance(model, str | os.PathLike) else bytes(model)
    files = _Files(content)
    try:
        root = Table.root(tflite.Model, memoryview(content), "model")
        raw = _metadata(root)
        if raw is None:
            return Descriptions()
        if bytes(raw[4:8]) != IDENTIFIER:
            raise ModelFormatError(f"it does not have {IDENTIFIER.decode()} at byte 4")
        graphs = root.tables("Subgraphs", "subgraph")
        described = Slots.root(raw, "it").tables(_MODEL_SUBGRAPHS)
        if not graphs or not described:
            return Descriptions()
        inputs = _described(described[0].tables(_SUBGRAPH_INPUTS), graphs[0], "Inputs", files)
        outputs = _described(described[0].tables(_SUBGRAPH_OUTPUTS), graphs[0], "Outputs", files)
    except ModelFormatError as error:
        return Descriptions(notes=(f"the model's metadata is left out: {error}",))
    return Descriptions(inputs, outputs, tuple(files.notes))


def _described(
    tensors: Sequence[Slots], graph: Table, field: str, files: _Files
) -> dict[int, Description]:
    count = len(graph.integers(field))
    if tensors and len(tensors) != count:
        what = f"it describes {len(tensors)} {field.lower()}, the model has {count}"
        raise ModelFormatError(what)
    return {index: _description(tensor, files) for index, tensor in enumerate(tensors)}


def _metadata(root: Table) -> memoryview | None:
    for entry in root.tables("Metadata", "metadata"):
        if entry.string("Name") == METADATA:
            buffers = root.tables("Buffers", "buffer")
            number = int(entry.scalar("Buffer"))
            if number >= len(buffers):
                raise ModelFormatError(
                    f"it is buffer {number}, the model has {len(buffers)} buffers"
                )
            return memoryview(buffers[number].vector("Data", "uint8").tobytes())
    return None


def _description(tensor: Slots, files: _Files) -> Description:
    fields: dict[str, Any] = {}
    for unit in tensor.tables(_TENSOR_UNITS):
        kind, options = unit.uint8(_UNIT_TYPE), unit.table(_UNIT_OPTIONS)
        if options is None:
            continue
        if kind == _NORMALIZATION:
            fields |= _normalization(options, files.notes)
        elif kind == _THRESHOLDING:
            threshold = options.float32(_THRESHOLD)
            if isfinite(threshold):
                fields["threshold"] = threshold
    # Labels of other languages follow; the schema's first language is the default.
    for file in tensor.tables(_TENSOR_FILES):
        if file.uint8(_FILE_TYPE) in _LABELS:
            fields["labels"] = files.labels(file.string(_FILE_NAME))
            break
    return Description(**fields)


def _normalization(options: Slots, notes: list[str]) -> dict[str, tuple[float, ...]]:
    mean, std = (options.floats(slot) for slot in (_MEAN, _STD))
    if not mean and not std:
        return {}
    is_usable = len(mean) in (1, 3) and len(std) in (1, 3) and all(map(isfinite, mean))
    if not is_usable or not all(isfinite(each) and each > 0 for each in std):
        notes.append(f"the metadata's normalization is left out: mean {mean}, deviation {std}")
        return {}
    return {"mean": mean, "std": std}


class _Files:
    """The files after the end of a model, with notes of errors.

    Attributes:
        notes: the errors.
    """

    def __init__(self, content: bytes) -> None:
        self.notes: list[str] = []
        self._content = content
        self._left = _MOST
        self._archive: zipfile.ZipFile | None = None
        self._known: dict[str, tuple[str, ...]] = {}

    def labels(self, name: str) -> tuple[str, ...]:
        """Return the lines of a file; none if it cannot be read."""
        if name not in self._known:
            self._known[name] = self._lines(name)
        return self._known[name]

    def _lines(self, name: str) -> tuple[str, ...]:
        try:
            if self._archive is None:
                self._archive = zipfile.ZipFile(io.BytesIO(self._content))
            with self._archive.open(name) as file:
                text = file.read(self._left + 1)
            if len(text) > self._left:
                raise ValueError(f"the label files have more than {_MOST} bytes")
            self._left -= len(text)
            return tuple(text.decode("utf-8").rstrip().splitlines())
        except Exception as error:
            # Damage shows as whatever zipfile and its decompressors happen to raise: BadZipFile,
            # zlib.error, LZMAError, NotImplementedError, RuntimeError for a password and others.
            reason = str(error) or type(error).__name__
            self.notes.append(f"the labels {name!r} in the model are left out: {reason}")
            return ()
