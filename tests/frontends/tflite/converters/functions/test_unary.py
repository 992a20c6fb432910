"""Operators of one float32 operand that Relax has too, and of quantized ones without a scale."""

from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np
import pytest

from frontends.tflite.quantization import Quantization
from tests.support.arrays import full_range
from tests.support.tflite import ANY, Sheet, fixed, given, one, x

POINTS = {"int8": -9, "uint8": 100, "int16": 0}
ACTIVATION = "fused_activation_function"


def encoding(dtype: str, has_scale: bool) -> Quantization | None:
    scale = 0.0004 if dtype == "int16" else 0.05
    return Quantization.per_tensor(scale, POINTS[dtype]) if has_scale else None


def add(sheet: Sheet, code: str, dtype: str, scaled: Sequence[bool], **options: Any) -> None:
    """Add an operator; some of its operands and its result may have scales."""
    *of_operands, of_result = scaled
    operands = [
        sheet.input(full_range(sheet.rng, dtype, (3, 3)), encoding(dtype, each))
        for each in of_operands
    ]
    if code in ("MEAN", "SUM", "REDUCE_PROD"):
        operands.append(sheet.constant([1]))
    sheet.operator(code, operands, (ANY, dtype, encoding(dtype, of_result)), **options)


def lacking(count: int) -> list[tuple[bool, ...]]:
    """Return for each tensor whether it has a scale, in all ways in which one has none."""
    return [each for each in product((False, True), repeat=count) if not all(each)]


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16"])
def test_what_a_multiplier_of_0_scales_is_the_zero_point(dtype: str) -> None:
    sheet = Sheet(seed=41)
    unary = ["RELU", "RELU6", "LEAKY_RELU", "MEAN"]
    if dtype != "int16":
        unary += ["RELU_0_TO_1", "RELU_N1_TO_1", "HARD_SWISH"]
    if dtype == "uint8":  # for which LiteRT's reference kernel takes the others, too
        unary.append("SUM")
    for code, scaled in product(unary, lacking(2)):
        options = {"alpha": 0.1} if code == "LEAKY_RELU" else {}
        add(sheet, code, dtype, scaled, **options)
    for scaled in lacking(3):
        if dtype != "uint8":
            add(sheet, "BATCH_MATMUL", dtype, scaled)
        add(sheet, "MUL", dtype, scaled)
        if scaled == (True, True, False):
            add(sheet, "SUB", dtype, scaled)
        if dtype != "int16":
            add(sheet, "PRELU", dtype, scaled)
        if scaled[-1]:
            add(sheet, "MUL", dtype, scaled, **{ACTIVATION: "RELU6"})
    sheet.check()


def test_words_are_added_and_multiplied_and_products_wrap() -> None:
    sheet = Sheet(seed=42)
    for activation in ("NONE", "RELU", "RELU6", "RELU_N1_TO_1", "TANH"):
        for last in (False, True):
            add(sheet, "ADD", "int16", (False, last, False), **{ACTIVATION: activation})
        for scaled in lacking(3):
            if not scaled[-1]:
                add(sheet, "MUL", "int16", scaled, **{ACTIVATION: activation})
    for dtype in POINTS:
        add(sheet, "REDUCE_PROD", dtype, (False, False), keep_dims=True)
    sheet.check()


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16"])
def test_functions_of_data_that_stand_for_0(dtype: str) -> None:
    sheet, point = Sheet(seed=44), 0 if dtype == "uint8" else -128
    sizes = {"LOGISTIC": (1 / 256, point), "TANH": (1 / 128, point + 128), "SOFTMAX": (2.0**-15, 0)}
    sizes["L2_NORMALIZATION"] = sizes["TANH"]
    codes = ["GELU", *(["EXP"] if dtype != "uint8" else [])]
    codes += ["SOFTMAX"] if dtype == "int16" else ["LOGISTIC", "TANH", "L2_NORMALIZATION"]
    for code in codes:
        known = Quantization.per_tensor(*sizes[code]) if code in sizes else encoding(dtype, True)
        options = {"beta": 1.0} if code == "SOFTMAX" else {}
        data = x(3, 5, dtype=dtype, encoding=None)
        sheet.add(code, data, gives=(ANY, dtype, known), **options)
    sheet.check()


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16"])
def test_several_scales_are_read_as_0(dtype: str) -> None:
    sheet = Sheet(seed=47)
    several = Quantization(np.array([0.1, 0.2, 0.3], np.float32), np.zeros(3, np.int64), 1)
    for code in ("RELU", "LEAKY_RELU", "MEAN", "GELU", "MUL", "BATCH_MATMUL"):
        operands = [sheet.input(full_range(sheet.rng, dtype, (3, 3)), several)]
        if code in ("MUL", "BATCH_MATMUL"):
            data = full_range(sheet.rng, dtype, (3, 3))
            operands.insert(0, sheet.input(data, encoding(dtype, True)))
        operands += [sheet.constant([1])] if code == "MEAN" else []
        if (code, dtype) != ("BATCH_MATMUL", "uint8"):
            options = {"alpha": 0.1} if code == "LEAKY_RELU" else {}
            sheet.operator(code, operands, (ANY, dtype, encoding(dtype, True)), **options)
    sheet.check()


def test_products_of_words_and_zeros_of_scale_0() -> None:
    sheet, known = Sheet(seed=48), encoding("int16", True)
    several = Quantization(np.array([0.1, 0.2, 0.3], np.float32), np.zeros(3, np.int64), 1)
    weights = fixed(full_range(sheet.rng, "int8", (4, 3)), "int8", several)
    sheet.add("BATCH_MATMUL", x(2, 4, dtype="int16", encoding=known), weights)
    sheet.check()
    result = one("DEQUANTIZE", given([3, 0, -3], "int8"), gives="float32").run()
    assert np.signbit(result).tolist() == [False, False, True]


@pytest.mark.parametrize(
    ("code", "dtype", "scaled", "options"),
    [
        ("SUB", "int16", (False, False, False), {}),
        ("ADD", "int8", (False, False, False), {}),
        ("ADD", "int16", (True, False, False), {}),
        ("SUB", "int8", (False, False, False), {}),
        ("MUL", "uint8", (True, True, False), {ACTIVATION: "RELU"}),
        ("DIV", "int8", (False, False, False), {}),
        ("REDUCE_PROD", "int8", (False, True), {}),
        ("TANH", "int8", (True, False), {}),
        ("TANH", "int16", (False, True), {}),
    ],
)
def test_refusals(code: str, dtype: str, scaled: Sequence[bool], options: dict[str, Any]) -> None:
    sheet = Sheet()
    add(sheet, code, dtype, scaled, **options)
    sheet.check_refused(rf"is {dtype} but the file states no scale")
