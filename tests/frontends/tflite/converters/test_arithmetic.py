from __future__ import annotations

import numpy as np
import pytest

from frontends.tflite import from_tflite
from frontends.tflite.quantization import Quantization
from qnn_ops import QnnError
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
    with pytest.raises(QnnError, match=r"has the scale 0\.0, needs a positive number"):
        from_tflite(sheet.model())


def test_products_of_shapes_that_do_not_broadcast() -> None:
    sheet = Sheet(seed=13)
    encoding = Quantization.per_tensor(0.1, 0)
    data = sheet.random_input((2, 3), "int8", encoding)
    zeros = sheet.constant(np.zeros((4,), np.int8), Quantization.per_tensor(0.0, 0))
    sheet.operator("MUL", [data, zeros], ((2, 3), "int8", encoding))
    with pytest.raises(QnnError):
        from_tflite(sheet.model())
