"""Comparisons and choices: SELECT, BUCKETIZE, ARG_MAX, ARG_MIN and TOPK_V2."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from frontends.tflite import WrongInLiteRTWarning
from frontends.tflite.quantization import Quantization
from tests.differential.single import single
from tests.support.steps import compiled
from tests.support.tflite import ANY, Q, Sheet, given, one, refused, x

CODES = ("EQUAL", "NOT_EQUAL", "GREATER", "GREATER_EQUAL", "LESS", "LESS_EQUAL")
LIMITS = np.array([-3.5, 0.5, 10, 10, 2.0**24], np.float32)


def compared(dtype: str, *scales: tuple[float, float], codes: Sequence[str] = CODES) -> Sheet:
    """Return comparisons of quantized tensors of these pairs of scales."""
    sheet = Sheet(seed=8)
    point = 0 if dtype == "int16" else int(np.iinfo(dtype).min) + 130
    for pair in scales:
        encodings = [Quantization.per_tensor(scale, point) for scale in pair]
        shapes = zip(((40, 50), (1, 50)), encodings, strict=True)
        operands = [x(*shape, dtype=dtype, encoding=encoding) for shape, encoding in shapes]
        for code in codes:
            sheet.add(code, *operands, gives="bool")
    return sheet


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_comparisons_of_quantized_values_equal_litert(dtype: str) -> None:
    compared(dtype, (0.05, 0.05), (0.3, 0.02), (0.001, 0.001)).check()


@pytest.mark.parametrize("dtype", ["int16", "int32", "int64", "float32", "bool"])
def test_comparisons_of_numbers_equal_litert(dtype: str) -> None:
    sheet = Sheet(seed=9)
    lhs, rhs = (given(sheet.rng.integers(0, 3, (4, 9)), dtype) for _ in range(2))
    omitted = {"bool": CODES[2:], "int16": ("NOT_EQUAL",)}.get(dtype, ())
    for code in CODES:
        if code not in omitted:
            sheet.add(code, lhs, rhs, gives="bool")
    sheet.check()


def test_logic_equals_litert_and_no_number_is_unequal_to_all() -> None:
    sheet, data = Sheet(), given([np.nan, np.inf, 0.0, -0.0, 1.5], "float32")
    other = given([np.nan, np.inf, -0.0, np.nan, 1.5], "float32")
    for code in CODES:
        sheet.add(code, data, other, gives="bool")
    lhs = given([[True, True], [False, False]], "bool")
    for code in ("LOGICAL_AND", "LOGICAL_OR"):
        sheet.add(code, lhs, given([True, False], "bool"))
    sheet.add("LOGICAL_NOT", lhs)
    sheet.check()


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16"])
def test_scales_above_1_equal_litert_with_a_warning(dtype: str) -> None:
    """A quarter or half of the answers are wrong."""
    codes = CODES[:1] if dtype == "int16" else CODES
    sheet = compared(dtype, (1.5, 1.5), (3.0, 0.5), (0.01, 100.0), codes=codes)
    with pytest.warns(WrongInLiteRTWarning, match="EQUAL: tensor 0 'x1' has the scale 1.5.* more"):
        sheet.check()


_ONES = x(2, 3, encoding=Quantization.per_tensor(1.0, 0))
_WORDS, _FLAGS = x(2, dtype="int16"), x(2, dtype="bool")

test_what_is_refused = refused(
    (r"no tensors of the scale 1\.0", one("LESS", _ONES, _ONES, gives="bool")),
    ("of int16", one("NOT_EQUAL", _WORDS, _WORDS, gives="bool")),
    ("of bool", one("LESS", _FLAGS, _FLAGS)),
    ("must choose by bool", one("SELECT", x(2, 3), x(2, 3), x(2, 3))),
    (
        "boundaries must be sorted",
        one("BUCKETIZE", x(3, dtype="float32"), gives="int32", boundaries=LIMITS[::-1]),
    ),
    ("4 elements of rows", one("TOPK_V2", x(2, 3), 4, gives=[(ANY, "int8", Q), "int32"])),
)


test_choices_equal_litert = compiled(
    single("SELECT"),
    single("SELECT_V2"),
    single("TOPK_V2"),
    dtypes=("int8", "uint8", "int32", "float32"),
    count=6,
)


@pytest.mark.parametrize("code", ["SELECT", "SELECT_V2"])
@pytest.mark.parametrize(
    ("condition", "chosen", "other", "result"),
    [
        ((1,), (1, 1), (1,), (1,)),
        ((1, 1), (1,), (1,), (1, 1, 1)),
        ((), (1, 1), (1, 1), (1,)),
        ((1, 1), (1, 1), (1, 1), (2,)),
    ],
)
def test_single_elements_have_the_shape_of_the_file(
    code: str, condition: tuple[int, ...], chosen: Any, other: Any, result: Any
) -> None:
    flag = given(np.ones(condition), "bool")
    one(code, flag, x(*chosen), x(*other), gives=(result, "int8", Q)).check()


@pytest.mark.parametrize("dtype", ["int32", "int64", "float32"])
def test_buckets_equal_litert_s(dtype: str) -> None:
    # Integers are rounded to float32 before they are compared.
    numbers = np.array([[-4, -3, 0, 1], [10, 11, 2**24 - 1, 2**24 + 1]]).astype(dtype)
    if dtype == "float32":
        numbers[0] = [np.nan, np.inf, -np.inf, 0.5]
    one("BUCKETIZE", given(numbers, dtype), gives="int32", boundaries=LIMITS).check()


def test_no_boundaries_no_numbers_and_long_rows() -> None:
    sheet = one("BUCKETIZE", x(3, dtype="float32"), gives="int32", boundaries=LIMITS[:0])
    sheet.add("BUCKETIZE", x(0, 3, dtype="float32"), gives="int32", boundaries=LIMITS)
    sheet.check()
    data = x(1, 20_000, dtype="uint8")
    one("TOPK_V2", data, 9, gives=[(ANY, "uint8", Q), "int32"]).check()
