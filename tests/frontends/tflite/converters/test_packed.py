"""Numbers of four bits or two that a run computes; LiteRT packs them, several to a byte."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from frontends.tflite.quantization import Quantization
from tests.support.tflite import Sheet, refused

Q = Quantization.per_tensor(0.3, 1)
NOT_REAL = np.array([np.nan, np.inf, -np.inf, 1e9, -1e9], np.float32)
MOVES: list[tuple[str, int, list[Any], tuple[int, ...], dict[str, Any]]] = [
    ("CONCATENATION", 7, [], (3, 10), {"axis": 1}),
    ("CONCATENATION", 7, [], (6, 5), {"axis": 0}),
    ("EXPAND_DIMS", 1, [1], (3, 1, 5), {}),
    ("RESHAPE", 1, [[5, 3]], (5, 3), {}),
    ("SLICE", 8, [[1, 2], [2, 3]], (2, 3), {}),
    ("SQUEEZE", 1, [], (3, 5), {}),
    ("TRANSPOSE", 8, [[1, 0]], (5, 3), {}),
]


def quantized(sheet: Sheet, shape: Sequence[int] = (3, 5), dtype: str = "int4") -> int:
    data = sheet.input(sheet.rng.normal(0, 2, tuple(shape)).astype(np.float32))
    return sheet.operator("QUANTIZE", [data], (shape, dtype, Q), version=4)


def test_conversions_equal_litert() -> None:
    sheet = Sheet(1)
    numbers = sheet.rng.normal(0, 2, (3, 5)).astype(np.float32)
    numbers[0, 0] = -0.45  # a tie
    data = sheet.input(numbers)
    packed = sheet.operator("QUANTIZE", [data], ((3, 5), "int4", Q), version=4)
    sheet.operator("DEQUANTIZE", [packed], ((3, 5), "float32", None), version=6)
    for dtype in ("int4", "int2"):
        for source in (data, sheet.input(NOT_REAL)):
            shape = (3, 5) if source == data else (5,)
            packed = sheet.operator("CAST", [source], (shape, dtype, None), version=6)
            sheet.operator("CAST", [packed], (shape, "float32", None), version=6)
        constant = sheet.packed(np.array([[1, -2, 0, -1, 1]], np.int8), dtype, Q)
        sheet.operator("DEQUANTIZE", [constant], ((1, 5), "float32", None), version=6)
        sheet.operator("CAST", [constant], ((1, 5), "float32", None), version=6)
    sheet.check()


@pytest.mark.parametrize("move", MOVES, ids=lambda move: move[0])
def test_moves_equal_litert(move: Any) -> None:
    code, version, numbers, shape, options = move
    sheet = Sheet(2)
    constants = [sheet.constant(np.array(each)) for each in numbers]
    numbered = np.arange(-7, 8, dtype=np.int8).reshape(3, 5)
    for data in (quantized(sheet), sheet.packed(numbered, "int4", Q)):
        count = 2 if code == "CONCATENATION" else 1
        operands = [*[data] * count, *constants]
        moved = sheet.operator(code, operands, (shape, "int4", Q), version=version, **options)
        sheet.operator("DEQUANTIZE", [moved], (shape, "float32", None), version=6)
    sheet.check()


def test_parts_rows_and_what_a_run_gets_equal_litert() -> None:
    sheet = Sheet(3)
    places = sheet.input(np.array([1, 2], np.int32))
    operands = [quantized(sheet), quantized(sheet, (2, 3)), places]
    sheet.operator("DYNAMIC_UPDATE_SLICE", operands, ((3, 5), "int4", Q), version=6)
    table = sheet.packed(sheet.rng.integers(-8, 8, (5, 3, 6)).astype(np.int8), "int4", Q)
    for data in (table, quantized(sheet, (5, 3, 6))):
        for axis, taken in ((0, [4, 1]), (1, [2, 2])):
            operands = [data, sheet.input(np.array(taken, np.int32))]
            shape = (2, 3, 6) if axis == 0 else (5, 2, 6)
            sheet.operator("GATHER", operands, (shape, "int4", Q), version=8, axis=axis)
    data = sheet.narrow(np.arange(-8, 8, dtype=np.int8), "int4", Q)
    sheet.operator("DEQUANTIZE", [data], ((16,), "float32", None), version=6)
    sheet.check()


@pytest.mark.parametrize(
    ("dtype", "kept"), [("int4", [-8, 7, -8, 7, 0]), ("int2", [0, -1, 0, -1, 0])]
)
def test_numbers_of_a_run_are_as_many_bits(dtype: str, kept: list[int]) -> None:
    sheet = Sheet()
    data = sheet.narrow(np.array([-8, 7, 8, -9, 16], np.int8), dtype, Q)
    sheet.operator("CAST", [data], ((5,), "float32", None))
    assert sheet.run().tolist() == kept


def _packed(code: str, result: str, *numbers: Any, **options: Any) -> Sheet:
    sheet = Sheet()
    operands = [quantized(sheet), *map(sheet.constant, numbers)]
    sheet.operator(code, operands, ((3, 5), result, None if result == "int32" else Q), **options)
    return sheet


test_what_litert_does_not_run_is_refused = refused(
    ("is int4, which LiteRT does not unpack there", _packed("RELU", "int4")),
    ("from int4 to int8", _packed("QUANTIZE", "int8")),
    ("between int4 and another type than float32", _packed("CAST", "int32")),
    ("tensors of int4 and int8", _packed("TRANSPOSE", "int8", [0, 1])),
    (
        "rows of 5 numbers of int4, which LiteRT takes for bytes",
        _packed("GATHER", "int4", [1, 0], version=8, axis=0),
    ),
)


def test_two_bits_are_not_moved() -> None:
    sheet = Sheet()
    data = sheet.input(np.zeros(4, np.float32))
    packed = sheet.operator("CAST", [data], ((4,), "int2", None))
    sheet.operator("RESHAPE", [packed, sheet.constant(np.array([2, 2]))], ((2, 2), "int2", None))
    sheet.check_refused("is int2, which LiteRT does not unpack there")
