"""Damaged files: one clear error each, and never a crash, a hang or a wrong graph."""

import re
import struct
import time
from typing import Any

import numpy as np
import pytest
import tflite

from frontends.errors import ModelFormatError
from frontends.tflite.quantization import Quantization
from frontends.tflite.reader import read_model
from frontends.tflite.writer import ModelWriter
from tests.frontends.tflite.example_models import raw_model
from tests.support import tflite_patch as at
from tests.support.tflite import check_refused
from tests.support.tflite_patch import SMALL

POOL = tflite.BuiltinOptions.Pool2DOptions


def error_of(data: bytes | bytearray) -> str:
    with pytest.raises(ModelFormatError) as caught:
        read_model(data)
    return str(caught.value)


@pytest.mark.parametrize("data", [b"", b"TFL3", b"\x1c\0\0\0TFL2" + SMALL[8:], b"PK\3\4" * 9])
def test_not_a_tflite_file(data: bytes) -> None:
    assert "not a TFLite file: needs TFL3 at byte 4" in error_of(data)


@pytest.mark.parametrize("source", [None, 3, ["a"], object()])
def test_not_a_source(source: object) -> None:
    check_refused(source, "needs bytes, a path or a tflite", ModelFormatError)


def test_wild_numbers_are_errors() -> None:
    data = struct.pack("<I", 2**31) + SMALL[4:]
    assert "model: cannot read Version, the file is truncated or damaged" in error_of(data)
    assert "tensor 0 'w': shape is of 33 dimensions, needs at most 32" in error_of(
        raw_model(shape=(1,) * 33)
    )
    data = raw_model(shape=(2**31 - 1,) * 4)
    assert f"needs {(2**31 - 1) ** 4}" in error_of(data)
    for size in range(len(SMALL)):
        assert error_of(SMALL[:size])


def test_overlapping_vectors_do_not_hang() -> None:
    # 100,000 times one tensor with a name of 400,000 characters: 40 GB to read.
    data = raw_model(name="n" * 400_000, repeat=100_000)
    start = time.process_time()
    assert "the file's vectors overlap" in error_of(data)
    assert time.process_time() - start < 5


def tables(patch: at.Patch) -> dict[str, Any]:
    """Return the tables of the small model, by what they are or by their names."""
    graph = patch.subgraph
    named = {"model": patch.model, "subgraph": graph, "conv": patch.conv}
    named |= {"x": graph.Tensors(0), "k": graph.Tensors(1), "options": patch.options()}
    return {**named, "reshape": graph.Operators(1)}


CONV, GRAPH = "operator 0 CONV_2D", "subgraph 0:"

# A table, its vector of int32, an element (-1 is their count), another number, the error.
ELEMENTS: list[tuple[str, int, int, int, str]] = [
    *(
        ("subgraph", at.SUBGRAPH_TENSORS, -1, count, f"{GRAPH} Tensors has {large} elements, more…")
        for count, large in ((-1, 2**32 - 1), (2**31 - 1, 2**31 - 1), (100_000, 100_000))
    ),
    ("model", at.MODEL_SUBGRAPHS, -1, 0, "model: holds no subgraph"),
    ("subgraph", at.SUBGRAPH_TENSORS, -1, 0, f"{GRAPH} holds no tensors"),
    *(
        ("conv", at.OPERATOR_INPUTS, 1, index, f"{CONV}: inputs name tensor {index}, the subgraph…")
        for index in (6, -2, 2**31 - 1)
    ),
    ("conv", at.OPERATOR_OUTPUTS, 0, -1, f"{CONV}: outputs name tensor -1…"),
    ("subgraph", at.SUBGRAPH_OUTPUTS, 0, 6, f"{GRAPH} outputs name tensor 6, …has tensors 0 to 5"),
    ("model", at.MODEL_CODES, -1, 1, "operator 1: operator code is 1, the model has 1"),
    ("conv", at.OPERATOR_INPUTS, 0, 5, f"{CONV}: reads tensor 5 'z' before it has a value"),
    ("conv", at.OPERATOR_OUTPUTS, 0, 0, f"{CONV}: writes tensor 0 'x', which has a value already"),
    ("conv", at.OPERATOR_OUTPUTS, 0, 1, f"{CONV}: writes tensor 1 'k', which has a value already"),
    ("reshape", at.OPERATOR_OUTPUTS, -1, 0, "model: output tensor 5 'z' has no value"),
    ("x", at.TENSOR_SHAPE, 1, -1, "tensor 0 'x': shape is (1, -1, 4, 3), needs…"),
    ("k", at.TENSOR_SHAPE, 3, 4, "tensor 1 'k': …54 bytes, shape (2, 3, 3, 4) of int8 needs 72"),
]

# A table, its field and that field's layout, another number, the error.
FIELDS: list[tuple[str, int, str, int, str]] = [
    ("model", 0, "<I", 2, "model: schema version is 2, needs 3"),
    ("k", at.TENSOR_BUFFER, "<I", 99, "tensor 1 'k': buffer is 99, the model has 4 buffers"),
    ("x", at.TENSOR_TYPE, "<b", 77, "tensor 0 'x': Type is 77, not one of float32, float16…"),
    ("conv", at.OPERATOR_OPTIONS_TYPE, "<B", POOL, f"{CONV} options: are Pool2D…, needs Conv2D…"),
    ("options", at.CONV_STRIDE_W, "<i", 0, f"{CONV} options: StrideW is 0, needs at least 1"),
    ("options", at.CONV_STRIDE_W, "<i", -2, f"{CONV} options: StrideW is -2, needs at least 1"),
    ("options", at.CONV_PADDING, "<b", 2, f"{CONV} options: Padding is 2, not one of SAME, VALID"),
    ("options", at.CONV_ACTIVATION, "<b", 9, f"{CONV} options: FusedActivationFunction is 9, not…"),
]


@pytest.mark.parametrize(("table", "field", "place", "value", "message"), [*ELEMENTS, *FIELDS])
def test_a_damaged_number_is_one_error(
    table: str, field: int, place: int | str, value: int, message: str
) -> None:
    patch = at.Patch()
    change: Any = patch.field if isinstance(place, str) else patch.element
    change(tables(patch)[table], field, place, value)
    text = ".*".join(map(re.escape, message.split("…")))
    assert re.fullmatch(text, error_of(patch.data))


@pytest.mark.parametrize(("offset", "size"), [(10**6, 3), (2, 2**64 - 1)])
def test_buffer_outside_the_file(offset: int, size: int) -> None:
    data = raw_model(buffer={"Offset": offset, "Size": size})
    assert f"buffer 1: bytes {offset} to {offset + size} are outside a file of" in error_of(data)


@pytest.mark.parametrize(
    ("dtype", "scale", "zero_point", "axis", "message"),
    [
        ("int8", [1.0], [0, 0], 0, "1 scales but 2 zero points"),
        ("int8", [1.0], [], 0, "1 scales but 0 zero points"),
        ("int8", [1.0] * 4, [0] * 4, 0, "4 scales, axis 0 of shape (2, 3) needs 2"),
        ("int8", [1.0] * 2, [0] * 2, 1, "2 scales, axis 1 of shape (2, 3) needs 3"),
        ("int8", [1.0] * 2, [0] * 2, 2, "axis 2 is not in shape (2, 3)"),
        ("int8", [1.0] * 2, [0] * 2, -1, "axis -1 is not in shape (2, 3)"),
        ("int8", [1.0, np.nan], [0] * 2, 0, "scale 1 is nan, needs a positive number"),
        ("uint8", [0.0], [0], 0, "scale 0 is 0.0, needs a positive number"),
        ("int8", [1.0], [128], 0, "zero point 0 is 128, int8 needs -128 to 127"),
        ("uint8", [1.0], [-1], 0, "zero point 0 is -1, uint8 needs 0 to 255"),
        ("int32", [1.0], [2**31], 0, "zero point 0 is 2147483648, int32 needs"),
    ],
)
def test_malformed_quantization(
    dtype: str, scale: list[float], zero_point: list[int], axis: int, message: str
) -> None:
    quantization = Quantization(np.array(scale, np.float32), np.array(zero_point, np.int64), axis)
    writer = ModelWriter()
    x = writer.tensor("x", (2, 3), dtype, quantization)
    message = f"tensor 0 'x': malformed quantization: {message}"
    assert error_of(writer.finish([x], [x])).startswith(message)
