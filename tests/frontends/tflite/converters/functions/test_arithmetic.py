"""ADD, SUB, MUL, DIV and the other elementwise operators of two operands."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from frontends.tflite import from_tflite
from frontends.tflite.quantization import Quantization
from qnn_ops.errors import QnnError
from tests.support.arrays import full_range
from tests.support.tflite import Sheet, random_quantization

SHAPES = [((2, 3, 4), (2, 3, 4)), ((2, 3, 4), (4,)), ((2, 1, 4), (3, 1)), ((2, 3), ())]


def add_arithmetic(sheet: Sheet, code: str, dtype: str, index: int) -> None:
    rng = sheet.rng
    left, right = SHAPES[index % len(SHAPES)]
    lhs = sheet.random_input(left, dtype, random_quantization(rng, dtype))
    quantization = random_quantization(rng, dtype)
    # A constant operand now and then, as in a scale or a bias of its own.
    values = full_range(rng, dtype, right)
    rhs = sheet.constant(values, quantization) if index % 3 else sheet.input(values, quantization)
    sheet.operator(
        code,
        [lhs, rhs],
        (left, dtype, random_quantization(rng, dtype, 0.1 if code != "MUL" else 0.3)),
        fused_activation_function=str(rng.choice(["NONE", "RELU", "RELU6", "RELU_N1_TO_1"])),
    )


@pytest.mark.parametrize("dtype", ["uint8", "int8"])
@pytest.mark.parametrize("code", ["ADD", "SUB", "MUL"])
def test_arithmetic_equals_litert(code: str, dtype: str) -> None:
    sheet = Sheet(seed=7)
    for index in range(30):
        add_arithmetic(sheet, code, dtype, index)
    sheet.check_reference()


@pytest.mark.parametrize("dtype", ["uint8", "int8"])
def test_compiled_arithmetic_equals_litert(dtype: str) -> None:
    sheet = Sheet(seed=8)
    for index, code in enumerate(["ADD", "SUB", "MUL"]):
        add_arithmetic(sheet, code, dtype, index)
    sheet.check()


def test_operands_may_be_scalars() -> None:
    sheet = Sheet(seed=9)
    quantization = random_quantization(sheet.rng, "int8")
    row = sheet.random_input((5,), "int8", quantization)
    scalar = sheet.random_input((), "int8", quantization)
    constant = sheet.constant(np.array(-7, np.int8), quantization)
    for shape, lhs, rhs in (((5,), row, constant), ((5,), scalar, row), ((), scalar, constant)):
        sheet.operator("ADD", [lhs, rhs], (shape, "int8", quantization))
    sheet.check()


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
    sheet = Sheet(seed=11)
    point = 0 if dtype == "int16" else 7
    encoding, nothing = Quantization.per_tensor(0.1, point), Quantization.per_tensor(0.0, 0)
    data = sheet.random_input((2, 3), dtype, encoding)
    zeros = sheet.constant(np.zeros((3,), dtype), nothing)
    numbers = sheet.constant(np.full((2, 3), 5, dtype), nothing)
    for operands, activation in (
        ([data, zeros], "NONE"),
        ([zeros, data], "RELU6"),
        ([data, numbers], "RELU_N1_TO_1"),
    ):
        result = ((2, 3), dtype, encoding)
        sheet.operator("MUL", operands, result, fused_activation_function=activation)
    sheet.check()


def test_what_reads_the_scale_0_says_so() -> None:
    sheet = Sheet(seed=12)
    encoding = Quantization.per_tensor(0.1, 0)
    data = sheet.random_input((2, 3), "int8", encoding)
    zeros = sheet.constant(np.zeros((3,), np.int8), Quantization.per_tensor(0.0, 0))
    sheet.operator("ADD", [data, zeros], ((2, 3), "int8", encoding))
    sheet.check_refused(r"has the scale 0\.0, needs a positive number")


def test_products_of_shapes_that_do_not_broadcast() -> None:
    sheet = Sheet(seed=13)
    encoding = Quantization.per_tensor(0.1, 0)
    data = sheet.random_input((2, 3), "int8", encoding)
    zeros = sheet.constant(np.zeros((4,), np.int8), Quantization.per_tensor(0.0, 0))
    sheet.operator("MUL", [data, zeros], ((2, 3), "int8", encoding))
    with pytest.raises(QnnError):
        from_tflite(sheet.model())


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_quotients_equal_litert(dtype: str) -> None:
    sheet = Sheet(seed=50)
    for activation, shape in (("NONE", (2, 3, 4)), ("RELU", (4,)), ("RELU6", (3, 1))):
        low = int(np.iinfo(dtype).min)
        divisors = full_range(sheet.rng, dtype, shape)
        divisors[divisors == low] += 1  # LiteRT divides by no 0
        data = sheet.random_input((2, 3, 4), dtype, random_quantization(sheet.rng, dtype))
        rhs = sheet.input(divisors, Quantization.per_tensor(0.1, low))
        result = ((2, 3, 4), dtype, random_quantization(sheet.rng, dtype, 0.02))
        sheet.operator("DIV", [data, rhs], result, fused_activation_function=activation)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sheet.check()


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
    sheet = Sheet(seed=51)
    info = np.iinfo(dtype)
    lhs = full_range(sheet.rng, dtype, (3, 7, 5))
    rhs = sheet.rng.integers(-9, 9, (7, 5)).astype(dtype)
    rhs[rhs == 0] = 1
    lhs[0, 0, :2], rhs[0, :2] = (info.min, info.max), (3, -1)
    quantization = Quantization.per_tensor(0.5, 3) if dtype == "int8" else None
    operands = [sheet.input(each, quantization) for each in (lhs, rhs)]
    for code in ("FLOOR_DIV", "FLOOR_MOD"):
        if (code, dtype) != ("FLOOR_DIV", "int64"):
            sheet.operator(code, operands, ((3, 7, 5), dtype, quantization), version=2)
    sheet.check()


def test_a_divisor_of_zero_is_taken_for_one() -> None:
    from tvm_qnn import build

    sheet = Sheet()
    lhs = sheet.input(np.array([-(2**31), 7, 0], np.int32))
    rhs = sheet.input(np.array([0, 0, 5], np.int32))
    for code in ("FLOOR_DIV", "FLOOR_MOD"):
        sheet.operator(code, [lhs, rhs], ((3,), "int32", None))
    results = build(*from_tflite(sheet.model())[:1], "llvm", {}).run(*sheet.arrays)
    quotients, rests = results.values()
    np.testing.assert_array_equal(quotients, [-(2**31), 7, 0])
    np.testing.assert_array_equal(rests, [0, 0, 0])


@pytest.mark.parametrize("dtype", ["int32", "float32"])
def test_a_constant_divisor_of_zero(dtype: str) -> None:
    for code in ("FLOOR_DIV", "FLOOR_MOD"):
        sheet = Sheet()
        operands = [sheet.input(np.ones(2, dtype)), sheet.constant(np.array([1, 0], dtype))]
        sheet.operator(code, operands, ((2,), dtype, None))
        if (code, dtype) == ("FLOOR_MOD", "float32"):
            sheet.check()
            continue
        sheet.check_refused(f"{code} .*divides by 0, which tensor 1 'c2' has")


def test_types_that_litert_does_not_divide() -> None:
    sheet = Sheet()
    data = sheet.input(np.ones(3, np.uint8), Quantization.per_tensor(0.5, 3))
    sheet.operator("FLOOR_DIV", [data, data], ((3,), "uint8", Quantization.per_tensor(0.5, 3)))
    sheet.check_refused("FLOOR_DIV: of uint8")


@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_numbers_equal_litert_s(dtype: str) -> None:
    sheet = Sheet(1)
    result = ((2, 3, 4), dtype, None)

    def numbers(shape: tuple[int, ...]) -> np.ndarray:
        return sheet.rng.integers(-999, 999, shape).astype(dtype)

    data, row = sheet.input(numbers((2, 3, 4))), sheet.input(numbers((4,)))
    for code in ("ADD", "SUB", "MUL", "MAXIMUM", "MINIMUM"):
        sheet.operator(code, [data, row], result)
    sheet.operator("NEG", [data], result)
    if dtype == "int32":
        sheet.operator("ABS", [data], result)
    for code in ("SUM", "REDUCE_MAX", "REDUCE_MIN", "REDUCE_PROD"):
        operands = [data, sheet.constant(np.array([1], np.int32))]
        sheet.operator(code, operands, ((2, 4), dtype, None), keep_dims=False)
    sheet.operator("CONCATENATION", [data, data], ((2, 6, 4), dtype, None), axis=1)
    sheet.check()


def test_what_int32_does_not_hold_wraps() -> None:
    sheet = Sheet(2)
    data = sheet.input(np.array([2**31 - 1, -(2**31), 70_000], np.int32))
    for code in ("ADD", "MUL"):
        sheet.operator(code, [data, data], ((3,), "int32", None))
    sheet.check()


@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_activations_bound_numbers(dtype: str) -> None:
    sheet = Sheet(9)
    data = sheet.input(np.arange(-9, 9).astype(dtype))
    row = sheet.input(np.full(1, 2, dtype))
    codes = ["ADD", "SUB", "MUL", *(["DIV"] if dtype == "int32" else [])]
    for activation in ("RELU", "RELU6", "RELU_N1_TO_1", "TANH", "SIGN_BIT"):
        for code in codes:
            result = ((18,), dtype, None)
            sheet.operator(code, [data, row], result, fused_activation_function=activation)
    sheet.check()


def test_types_must_be_one() -> None:
    sheet = Sheet(3)
    operands = [sheet.input(np.zeros(3, each)) for each in ("int32", "int64")]
    sheet.operator("ADD", operands, ((3,), "int32", None))
    sheet.check_refused("ADD")


def test_quotients_means_and_signs_equal_litert_s() -> None:
    sheet = Sheet(4)
    data = sheet.input(sheet.rng.integers(-999, 999, (3, 5, 4)).astype(np.int32))
    divisors = sheet.rng.choice([-7, -2, -1, 1, 3], 4).astype(np.int32)
    row = sheet.input(divisors)
    result = ((3, 5, 4), "int32", None)
    for code in ("DIV", "SQUARED_DIFFERENCE"):
        sheet.operator(code, [data, row], result)
    sheet.operator(
        "SIGN",
        [sheet.input(np.array([-5, 0, 2**31 - 1], np.int32))],
        ((3,), "int32", None),
        version=2,
    )
    sheet.operator("ADD_N", [data, data, data], result)
    wide = sheet.input(sheet.rng.integers(-(10**12), 10**12, (3, 5, 4)))
    for axes, shape in (([1], (3, 4)), ([0, 2], (5,)), ([0, 1, 2], ())):
        for operand, dtype in ((data, "int32"), (wide, "int64")):
            operands = [operand, sheet.constant(axes)]
            sheet.operator("MEAN", operands, (shape, dtype, None), keep_dims=False)
    sheet.check()


def test_reductions_of_bool_equal_litert_s() -> None:
    sheet = Sheet(5)
    data = sheet.input(sheet.rng.random((3, 4, 2)) < 0.6)
    for code in ("REDUCE_ANY", "REDUCE_ALL", "REDUCE_MAX", "REDUCE_MIN", "SUM", "REDUCE_PROD"):
        for axes, keep, shape in (
            ([1], False, (3, 2)),
            ([0, -1], True, (1, 4, 1)),
            ([], True, (3, 4, 2)),
        ):
            operands = [data, sheet.constant(np.array(axes, np.int32))]
            sheet.operator(code, operands, (shape, "bool", None), keep_dims=keep)
    sheet.check()


@pytest.mark.parametrize("dtype", ["int32", "int64", "bool"])
def test_what_moves_numbers_equals_litert(dtype: str) -> None:
    sheet = Sheet(6)
    data = sheet.input(
        sheet.rng.integers(0, 2 if dtype == "bool" else 99, (1, 3, 2, 2)).astype(dtype)
    )
    widths = sheet.constant([[0, 0], [1, 2], [0, 0], [0, 3]])
    sheet.operator("PAD", [data, widths], ((1, 6, 2, 5), dtype, None))
    filling = sheet.bias(np.array([1], dtype))
    sheet.operator("PADV2", [data, widths, filling], ((1, 6, 2, 5), dtype, None))
    sheet.operator("CONCATENATION", [data, data], ((1, 3, 4, 2), dtype, None), axis=2)
    if dtype != "int64":
        operands = [data, sheet.constant([5, 3])]
        for options in ({}, {"align_corners": True}, {"half_pixel_centers": True}):
            sheet.operator(
                "RESIZE_NEAREST_NEIGHBOR", operands, ((1, 5, 3, 2), dtype, None), **options
            )
    sheet.check()


def test_bool_is_not_added() -> None:
    sheet = Sheet()
    data = sheet.input(np.ones(3, bool))
    sheet.operator("ADD", [data, data], ((3,), "bool", None))
    sheet.check_refused(r"from .'bool', 'bool'. to bool")
