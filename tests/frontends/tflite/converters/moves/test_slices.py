"""STRIDED_SLICE, SLICE and DYNAMIC_UPDATE_SLICE."""

import numpy as np

from tests.support.tflite import Sheet, random_quantization

ANY = (1,)


def put(sheet: Sheet, part: tuple[int, ...], begins: list[int], dtype: str, constant: bool) -> None:
    shape = (4, 3, 5)
    if dtype == "int8":
        encoding = random_quantization(sheet.rng, dtype)
        operands = [sheet.random_input(each, dtype, encoding) for each in (shape, part)]
    else:
        encoding = None
        numbers = (sheet.rng.integers(-9, 9, each).astype(dtype) for each in (shape, part))
        operands = [sheet.input(each) for each in numbers]
    indices = np.array(begins, np.int32)
    operands.append(sheet.constant(indices) if constant else sheet.input(indices))
    sheet.operator("DYNAMIC_UPDATE_SLICE", operands, (shape, dtype, encoding), version=1)


def test_parts_that_are_put_into_tensors_equal_litert() -> None:
    sheet = Sheet(5)
    for dtype, constant in (("int8", False), ("float32", True), ("int32", False), ("int64", True)):
        put(sheet, (1, 3, 5), [2, 0, 0], dtype, constant)
        put(sheet, (2, 2, 4), [1, 1, 1], dtype, constant)
    put(sheet, (4, 3, 5), [0, 0, 0], "int8", False)
    put(sheet, (2, 2, 4), [-7, 9, 2], "int8", False)
    put(sheet, (1, 1, 1), [3, 2, 5], "int8", True)
    put(sheet, (0, 3, 5), [1, 0, 0], "int8", False)
    put(sheet, (4, 3, 0), [0, 0, 0], "float32", False)
    sheet.check()


def test_parts_that_are_too_large() -> None:
    sheet = Sheet(7)
    put(sheet, (1, 4, 1), [0, 0, 0], "int8", True)
    sheet.check_refused("does not fit into")
