"""Slices of open sizes, CONCATENATION, PACK, UNPACK, SPLIT and SPLIT_V."""

from collections.abc import Sequence
from typing import Any

import pytest

from frontends.tflite.quantization import Quantization
from tests.differential.single import single
from tests.support.steps import compiled
from tests.support.tflite import ANY, Q, Sheet, fixed, given, one, refused, x


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


OTHER = Quantization.per_tensor(0.5, 4)


test_concatenations_equal_litert = compiled(single("CONCATENATION"))


test_what_is_refused = refused(
    (
        r"operator 0 CONCATENATION \('x1', 'x2', 'y3'\): tensor 1 'x2' and tensor 2 'y3' must "
        r"have the same scale and zero point, got \(0.5, 4\) and \(0.5, 3\)",
        one("CONCATENATION", x(2, 3), x(2, 3, encoding=OTHER), axis=0),
    ),
    (
        "CONCATENATION: fused activation RELU",
        one("CONCATENATION", *[x(2, 3, dtype="uint8")] * 2, fused_activation_function="RELU"),
    ),
    (
        "some tensors state a scale and zero point",
        one("CONCATENATION", x(2, 3), x(2, 3, encoding=None), gives=(ANY, "int8", None), axis=1),
    ),
    (
        "must have the same scale and zero point",
        one("PACK", x(2, 3), gives=(ANY, "int8", OTHER), axis=0, values_count=1),
    ),
    ("unpacks 2 along axis 1", one("UNPACK", x(2, 3), gives=[(ANY, "int8", Q)] * 2, axis=1, num=2)),
)


@pytest.mark.parametrize("stated", [True, False])
def test_uint8_tensors_of_which_some_state_no_scale_equal_litert(stated: bool) -> None:
    alike = Quantization.per_tensor(0.4, 7)
    parts = [x(2, 3, dtype="uint8"), x(2, 2, dtype="uint8", encoding=None)]
    parts.append(x(2, 3, dtype="uint8", encoding=alike))
    result = (ANY, "uint8", alike if stated else None)
    one("CONCATENATION", *parts, gives=result, axis=-1).check()


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_stacks_and_parts_equal_litert(axis: int) -> None:
    sheet, data = Sheet(seed=1), x(2, 3)
    sheet.add("PACK", data, x(2, 3), data, axis=axis, values_count=3)
    count = 2 if axis == 0 else 3
    sheet.add("UNPACK", data, gives=[(ANY, "int8", Q)] * count, axis=axis, num=count)
    sheet.add("PACK", x(2, 3, dtype="int32"), axis=axis, values_count=1)
    sheet.check()
