"""Arithmetic of int32 and int64 that depends on the data of a run."""

from __future__ import annotations

import numpy as np
import pytest

from frontends.tflite import from_tflite
from qnn_ops import QnnError
from tests.support.tflite import Sheet


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
    with pytest.raises(QnnError, match="ADD"):
        from_tflite(sheet.model())


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
    with pytest.raises(QnnError, match=r"from .'bool', 'bool'. to bool"):
        from_tflite(sheet.model())
