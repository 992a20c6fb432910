"""Checked access to flatbuffers tables: a malformed file gives an error, never a hang."""

import struct

import flatbuffers
import numpy as np
import pytest

from frontends.errors import ModelFormatError
from frontends.tflite.flatbuffer import Slots


def table() -> bytes:
    builder = flatbuffers.Builder(0)
    text, numbers = (
        builder.CreateString("bär"),
        builder.CreateNumpyVector(np.array([1, 2], np.float32)),
    )
    builder.StartObject(1)
    builder.PrependUint8Slot(0, 9, 0)
    inner = builder.EndObject()
    builder.StartVector(4, 1, 4)
    builder.PrependUOffsetTRelative(inner)
    vector = builder.EndVector()
    builder.StartObject(6)
    builder.PrependUOffsetTRelativeSlot(0, text, 0)
    builder.PrependUOffsetTRelativeSlot(1, numbers, 0)
    builder.PrependUOffsetTRelativeSlot(2, inner, 0)
    builder.PrependUOffsetTRelativeSlot(3, vector, 0)
    builder.PrependFloat32Slot(4, 0.5, 0.0)
    builder.Finish(builder.EndObject())
    return bytes(builder.Output())


def test_fields_are_read_by_their_slots() -> None:
    root = Slots.root(memoryview(table()), "it")
    assert root.string(0) == "bär"
    assert root.floats(1) == (1.0, 2.0)
    inner = root.table(2)
    assert inner is not None
    assert inner.uint8(0) == 9
    assert [each.uint8(0) for each in root.tables(3)] == [9]
    assert root.float32(4) == 0.5
    root = Slots.root(memoryview(table()), "it")
    assert (root.string(5), root.floats(5), root.table(5), root.tables(99)) == ("", (), None, [])
    assert (root.uint8(5), root.float32(5)) == (0, 0.0)


def test_what_is_outside_the_file_is_an_error() -> None:
    content = table()
    for wrong in (b"", b"\0", struct.pack("<I", 1 << 31), content[:20]):
        with pytest.raises(ModelFormatError, match="it: cannot read "):
            Slots.root(memoryview(wrong), "it").tables(3)
    huge = bytearray(content)
    place = content.index(struct.pack("<I", 2) + np.array([1, 2], np.float32).tobytes())
    huge[place : place + 4] = struct.pack("<I", 1 << 30)
    with pytest.raises(ModelFormatError, match="has 1073741824 elements"):
        Slots.root(memoryview(bytes(huge)), "it").floats(1)
