"""STRIDED_SLICE, SLICE and DYNAMIC_UPDATE_SLICE."""

from collections.abc import Sequence
from typing import Any

from tests.support.tflite import Sheet, fixed, given, refused, x


def put(sheet: Sheet, part: Sequence[int], begins: Any, dtype: str, make: Any = given) -> Sheet:
    """Add a part that is put into a tensor, at indices of a run or of the file."""
    operands = [x(*shape, dtype=dtype) for shape in ((4, 3, 5), part)]
    return sheet.add("DYNAMIC_UPDATE_SLICE", *operands, make(begins, "int32"), version=1)


def test_parts_that_are_put_into_tensors_equal_litert() -> None:
    sheet = Sheet(5)
    for dtype, make in (("int8", given), ("float32", fixed), ("int32", given), ("int64", fixed)):
        put(sheet, (1, 3, 5), [2, 0, 0], dtype, make)
        put(sheet, (2, 2, 4), [1, 1, 1], dtype, make)
    put(sheet, (4, 3, 5), [0, 0, 0], "int8")
    put(sheet, (2, 2, 4), [-7, 9, 2], "int8")
    put(sheet, (1, 1, 1), [3, 2, 5], "int8", fixed)
    put(sheet, (0, 3, 5), [1, 0, 0], "int8")
    put(sheet, (4, 3, 0), [0, 0, 0], "float32")
    sheet.check()


test_parts_that_are_too_large = refused(
    ("does not fit into", put(Sheet(7), (1, 4, 1), [0, 0, 0], "int8", fixed))
)
