"""ADD, SUB, MUL, DIV and the other elementwise operators of two operands."""

import numpy as np
import pytest

from frontends.tflite.quantization import Quantization
from tests.differential.elementwise import divide, pair
from tests.differential.integers import whole
from tests.differential.single import single
from tests.support.arrays import full_range
from tests.support.steps import compiled
from tests.support.tflite import (
    ANY,
    Q,
    Sheet,
    fixed,
    given,
    library_of,
    one,
    refused,
    x,
)

test_pairs_equal_litert = compiled(pair, count=12)
test_numbers_equal_litert = compiled(whole, count=12)
test_extremes_equal_litert = pytest.mark.filterwarnings("error")(
    compiled(single("MAXIMUM", "MINIMUM", "REDUCE_MAX", "REDUCE_MIN"), count=8)
)
test_quotients_equal_litert = pytest.mark.filterwarnings("error")(compiled(divide))


def test_operands_may_be_scalars_or_zero() -> None:
    sheet, row, scalar, constant = Sheet(seed=9), x(5), x(), fixed(-7, "int8", Q)
    for lhs, rhs in ((row, constant), (scalar, row), (scalar, constant)):
        sheet.add("ADD", lhs, rhs)
    sheet.check()
    one("FLOOR_MOD", given([1, 1], "float32"), fixed([1, 0], "float32")).check()
    sheet = Sheet()
    lhs, rhs = given([-(2**31), 7, 0], "int32"), given([0, 0, 5], "int32")
    for code in ("FLOOR_DIV", "FLOOR_MOD"):
        sheet.add(code, lhs, rhs)
    quotients, rests = library_of(sheet.model()).run(*sheet.arrays).values()
    np.testing.assert_array_equal(quotients, [-(2**31), 7, 0])
    np.testing.assert_array_equal(rests, [0, 0, 0])


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_products_with_multipliers_beyond_all_shifts_equal_litert(dtype: str) -> None:
    sheet = Sheet(seed=9)
    for lhs, rhs, result in ((0.5, 0.5, 1e-30), (1e15, 1e15, 0.25), (65536.0, 65536.0, 1.0)):
        low = -6 if dtype == "int8" else 0
        operands = [
            sheet.input(
                sheet.rng.integers(low, 9, (4, 50)).astype(dtype), Quantization.per_tensor(scale, 1)
            )
            for scale in (lhs, rhs)
        ]
        sheet.operator("MUL", operands, ((4, 50), dtype, Quantization.per_tensor(result, 0)))
    sheet.check()


@pytest.mark.parametrize("dtype", ["uint8", "int8", "int16"])
def test_products_with_zeros_of_scale_0(dtype: str) -> None:
    nothing = Quantization.per_tensor(0.0, 0)
    encoding = Quantization.per_tensor(0.1, 0 if dtype == "int16" else 7)
    sheet, data = Sheet(seed=11), x(2, 3, dtype=dtype, encoding=encoding)
    zeros, numbers = fixed(np.zeros(3), dtype, nothing), fixed(np.full((2, 3), 5), dtype, nothing)
    sheet.add("MUL", data, zeros)
    sheet.add("MUL", zeros, data, gives=(ANY, dtype, encoding), fused_activation_function="RELU6")
    sheet.add("MUL", data, numbers, fused_activation_function="RELU_N1_TO_1")
    sheet.check()


_ZEROS = Quantization.per_tensor(0.0, 0)
_FLAGS = x(3, dtype="bool")
_BYTES = x(3, dtype="uint8")

test_what_is_refused = refused(
    (r"the scale 0\.0, needs a positive", one("ADD", x(2, 3), fixed([0] * 3, "int8", _ZEROS))),
    ("FLOOR_DIV: from uint8, uint8", one("FLOOR_DIV", _BYTES, _BYTES)),
    (
        "ADD: no conversion rule for tensors of type int32, int64",
        one("ADD", x(3, dtype="int32"), x(3, dtype="int64")),
    ),
    ("from bool, bool to bool", one("ADD", _FLAGS, _FLAGS)),
    ("are not broadcastable", one("MUL", x(2, 3), fixed([0] * 4, "int8", _ZEROS))),
    *(
        (f"{code} .*by 0, which tensor 1 'c2'", one(code, x(2, dtype=dtype), fixed([1, 0], dtype)))
        for code, dtype in (
            ("DIV", "int32"),
            ("FLOOR_DIV", "int32"),
            ("FLOOR_MOD", "int32"),
            ("FLOOR_DIV", "float32"),
        )
    ),
)


def test_quotients_of_int16_equal_litert() -> None:
    sheet = Sheet(seed=52)
    for activation, shape, scale in (
        ("NONE", (3, 40), 1e-3),
        ("RELU", (40,), 0.013),
        ("RELU6", (3, 1), 1e-3),
        ("NONE", (40,), 1e-6),
        ("NONE", (3, 40), 100.0),
    ):
        divisors = full_range(sheet.rng, "int16", shape)
        divisors.flat[:3] = 1, -1, 2
        divisors[divisors == 0] += 1  # LiteRT divides by no 0
        data = full_range(sheet.rng, "int16", (3, 40))
        data.flat[:5] = 0, 1, -1, -(2**15), 2**15 - 1
        operands = [
            sheet.input(data, Quantization.per_tensor(0.01, 0)),
            sheet.input(divisors, Quantization.per_tensor(0.25, 0)),
        ]
        result = ((3, 40), "int16", Quantization.per_tensor(scale, 0))
        sheet.operator("DIV", operands, result, fused_activation_function=activation)
    sheet.check()


@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "int64"])
def test_floored_quotients_and_their_rests_equal_litert(dtype: str) -> None:
    sheet, info = Sheet(seed=51), np.iinfo(dtype)
    lhs = full_range(sheet.rng, dtype, (3, 7, 5))
    rhs = sheet.rng.integers(-9, 9, (7, 5)).astype(dtype)
    rhs[rhs == 0] = 1
    lhs[0, 0, :2], rhs[0, :2] = (info.min, info.max), (3, -1)
    operands = [given(each, dtype, Q if dtype == "int8" else None) for each in (lhs, rhs)]
    for code in ("FLOOR_DIV", "FLOOR_MOD"):
        if (code, dtype) != ("FLOOR_DIV", "int64"):
            sheet.add(code, *operands, version=2)
    sheet.check()


def test_numbers_of_int32_and_bool_equal_litert_s() -> None:
    sheet, data = Sheet(2), given([2**31 - 1, -(2**31), 70_000], "int32")
    for code in ("ADD", "MUL"):
        sheet.add(code, data, data)
    data = given(sheet.rng.integers(-999, 999, (3, 5, 4)), "int32")
    for code in ("DIV", "SQUARED_DIFFERENCE"):
        sheet.add(code, data, given([-7, -2, 1, 3], "int32"))
    sheet.add("SIGN", given([-5, 0, 2**31 - 1], "int32"), version=2)
    sheet.add("ADD_N", data, data, data)
    wide = given(sheet.rng.integers(-(10**12), 10**12, (3, 5, 4)), "int64")
    for axes in ([1], [0, 2], [0, 1, 2]):
        sheet.add("MEAN", data, axes, keep_dims=False)
        sheet.add("MEAN", wide, axes, keep_dims=False)
    data = x(3, 4, 2, dtype="bool")
    for code in ("REDUCE_ANY", "REDUCE_ALL", "REDUCE_MAX", "REDUCE_MIN", "SUM", "REDUCE_PROD"):
        for axes, keep in (([1], False), ([0, -1], True), ([], True)):
            sheet.add(code, data, axes, keep_dims=keep)
    sheet.check()


@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_activations_bound_numbers(dtype: str) -> None:
    sheet, data, row = Sheet(9), given(np.arange(-9, 9), dtype), given([2], dtype)
    codes = ["ADD", "SUB", "MUL", *(["DIV"] if dtype == "int32" else [])]
    for activation in ("RELU", "RELU6", "RELU_N1_TO_1", "TANH", "SIGN_BIT"):
        for code in codes:
            sheet.add(code, data, row, fused_activation_function=activation)
    sheet.check()


@pytest.mark.parametrize("dtype", ["int32", "int64", "bool"])
def test_what_moves_numbers_equals_litert(dtype: str) -> None:
    sheet, data, widths = Sheet(6), x(1, 3, 2, 2, dtype=dtype), [[0, 0], [1, 2], [0, 0], [0, 3]]
    sheet.add("PAD", data, widths)
    sheet.add("PADV2", data, widths, fixed([1], dtype))
    sheet.add("CONCATENATION", data, data, axis=2)
    if dtype != "int64":
        for options in ({}, {"align_corners": True}, {"half_pixel_centers": True}):
            sheet.add("RESIZE_NEAREST_NEIGHBOR", data, [5, 3], **options)
    sheet.check()


test_more_operands_than_two_are_refused = refused(
    *(
        (f"{code}.*: has 3 inputs, needs 2", one(code, *[x(3, dtype=dtype)] * 3))
        for code in ("ADD", "SUB", "MUL", "DIV", "MAXIMUM", "SQUARED_DIFFERENCE", "GREATER")
        for dtype in ("float32", "int32", "int8")
    ),
    ("ABS.*: has 2 inputs, needs 1", one("ABS", *[x(3, dtype="int32")] * 2)),
)

test_what_litert_does_not_add_or_negate_is_refused = refused(
    ("from int64 to int64", one("ADD_N", x(3, dtype="int64"))),
    ("from bool to bool", one("ADD_N", x(3, dtype="bool"))),
    *(
        ("input 0 is missing", one(code, gives=dtype))
        for code in ("ADD_N", "NEG")
        for dtype in ("int32", "float32")
    ),
)


OTHER = Quantization.per_tensor(0.25, -9)


test_integers_that_mean_different_numbers = refused(
    ("the same scale and zero point", one("REDUCE_MAX", x(2, 3), [1], gives=(ANY, "int8", OTHER)))
)


@pytest.mark.parametrize("code", ["MAXIMUM", "MINIMUM"])
def test_the_larger_of_integers_whatever_they_mean(code: str) -> None:
    result = (ANY, "int8", Quantization.per_tensor(0.125, 5))
    one(code, x(2, 3), x(2, 3, encoding=OTHER), gives=result).check()
