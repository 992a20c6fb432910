"""Numbers of four bits or two that a run computes; LiteRT packs them, several to a byte."""

from typing import Any

import numpy as np
import pytest

from frontends.tflite.quantization import Quantization
from tests.support.tflite import ANY, Operand, Sheet, given, refused

Q = Quantization.per_tensor(0.3, 1)
NOT_REAL = given([np.nan, np.inf, -np.inf, 1e9, -1e9], "float32")
MOVES: list[tuple[str, int, list[Any], dict[str, Any]]] = [
    ("CONCATENATION", 7, [], {"axis": 1}),
    ("CONCATENATION", 7, [], {"axis": 0}),
    ("EXPAND_DIMS", 1, [1], {}),
    ("RESHAPE", 1, [[5, 3]], {}),
    ("SLICE", 8, [[1, 2], [2, 3]], {"gives": ((2, 3), "int4", Q)}),
    ("SQUEEZE", 1, [], {}),
    ("TRANSPOSE", 8, [[1, 0]], {}),
]


def quantized(sheet: Sheet, *shape: int) -> Operand:
    data = given(sheet.rng.normal(0, 2, shape or (3, 5)), "float32")
    result: Operand = sheet.made("QUANTIZE", data, gives=(data.kind[0], "int4", Q), version=4)
    return result


def stored(numbers: Any, dtype: str = "int4", *, is_constant: bool = True) -> Operand:
    """Return numbers of the file, or an input."""
    array = np.array(numbers, np.int8)
    return Operand((array.shape, dtype, Q), array, is_constant=is_constant)


def test_conversions_equal_litert() -> None:
    sheet = Sheet(1)
    numbers = sheet.rng.normal(0, 2, (3, 5))
    numbers[0, 0] = -0.45  # a tie
    data = given(numbers, "float32")
    packed = sheet.made("QUANTIZE", data, gives=((3, 5), "int4", Q), version=4)
    sheet.add("DEQUANTIZE", packed, gives="float32", version=6)
    for dtype in ("int4", "int2"):
        for source in (data, NOT_REAL):
            packed = sheet.made("CAST", source, gives=(source.kind[0], dtype, None), version=6)
            sheet.add("CAST", packed, gives="float32", version=6)
        constant = stored([[1, -2, 0, -1, 1]], dtype)
        for code in ("DEQUANTIZE", "CAST"):
            sheet.add(code, constant, gives="float32", version=6)
    sheet.check()


@pytest.mark.parametrize("move", MOVES, ids=lambda move: move[0])
def test_moves_equal_litert(move: Any) -> None:
    code, version, numbers, options = move
    sheet = Sheet(2)
    for data in (quantized(sheet), stored(np.arange(-7, 8).reshape(3, 5))):
        operands = [data] * (2 if code == "CONCATENATION" else 1)
        moved = sheet.made(code, *operands, *numbers, version=version, **options)
        sheet.add("DEQUANTIZE", moved, gives="float32", version=6)
    sheet.check()


def test_parts_rows_and_what_a_run_gets_equal_litert() -> None:
    sheet = Sheet(3)
    operands = quantized(sheet), quantized(sheet, 2, 3), given([1, 2], "int32")
    sheet.add("DYNAMIC_UPDATE_SLICE", *operands, version=6)
    table = stored(sheet.rng.integers(-8, 8, (5, 3, 6)))
    for data in (table, quantized(sheet, 5, 3, 6)):
        for axis, taken in ((0, [4, 1]), (1, [2, 2])):
            sheet.add("GATHER", data, given(taken, "int32"), version=8, axis=axis)
    data = stored(range(-8, 8), is_constant=False)
    sheet.add("DEQUANTIZE", data, gives="float32", version=6)
    sheet.check()


@pytest.mark.parametrize(
    ("dtype", "kept"), [("int4", [-8, 7, -8, 7, 0]), ("int2", [0, -1, 0, -1, 0])]
)
def test_numbers_of_a_run_are_as_many_bits(dtype: str, kept: list[int]) -> None:
    data = stored([-8, 7, 8, -9, 16], dtype, is_constant=False)
    assert Sheet().add("CAST", data, gives="float32").run().tolist() == kept


def _packed(code: str, result: str, *numbers: Any, **options: Any) -> Sheet:
    sheet, encoding = Sheet(), None if result == "int32" else Q
    return sheet.add(code, quantized(sheet), *numbers, gives=((3, 5), result, encoding), **options)


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
    sheet, data = Sheet(), given(np.zeros(4), "float32")
    packed = sheet.made("CAST", data, gives=(ANY, "int2", None))
    sheet.add("RESHAPE", packed, [2, 2])
    sheet.check_refused("is int2, which LiteRT does not unpack there")
