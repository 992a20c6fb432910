"""Functions of one operand, as tables of their results if it is quantized, and POW."""

from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np
import pytest

from frontends.tflite import from_tflite
from frontends.tflite.quantization import Quantization
from tests.differential.elementwise import unary
from tests.support.arrays import full_range
from tests.support.steps import compiled
from tests.support.tflite import ANY, Sheet, fixed, given, one, random_quantization, refused, x

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


# What LiteRT demands of the output.
_FIXED = {
    "LOGISTIC": {"int8": (1 / 256, -128), "uint8": (1 / 256, 0)},
    "TANH": {"int8": (1 / 128, 0), "uint8": (1 / 128, 128)},
}


def add_function(sheet: Sheet, code: str, dtype: str, **options: Any) -> None:
    every = np.arange(256).astype(dtype)
    data = sheet.input(every, random_quantization(sheet.rng, dtype))
    fixed = _FIXED.get(code, {}).get(dtype)
    result = Quantization.per_tensor(*fixed) if fixed else random_quantization(sheet.rng, dtype)
    sheet.operator(code, [data], ((256,), dtype, result), **options)


test_functions_equal_litert = compiled(unary, count=60)


def test_the_table_is_a_parameter_named_after_the_result() -> None:
    sheet = Sheet()
    add_function(sheet, "LOGISTIC", "int8")
    mod, params = from_tflite(sheet.model())
    assert list(params) == ["y2_table"]
    assert params["y2_table"].numpy().shape == (256,)
    assert "R.qnn.quantized_lookup(x1, y2_table)" in mod.script()


INTEGERS = np.array([2, 3, -2, -3, 0, 1, -1, 46341, -46341, 1290, 2**31 - 1, -(2**31)], np.int32)
REALS = [2, -3, np.nan, np.inf, -np.inf, 0, -0.0, 1e30, -1e30, 1e-30, 1.1, -0.7, 1.0000001]


def test_integers_equal_litert_s() -> None:
    sheet, data = Sheet(seed=1), given(INTEGERS, "int32")
    for exponents in (2, 31, [[0], [1], [5], [30], [32], [2**31 - 1]]):
        # One for each number: what int32 does not hold is its lowest number.
        each = np.broadcast_to(np.array(exponents), (*np.shape(exponents)[:1], 12))
        for make in (given, fixed):
            sheet.add("POW", data, make(each, "int32"))
    for exponent in (0, 1, 2, 3, 7, 20, 31, 1000, 2**31 - 1):
        # One for all: they wrap.
        for make in (given, fixed):
            sheet.add("POW", data, make([[exponent]], "int32"))
    three = given(3, "int32")
    sheet.add("POW", three, [2])
    sheet.add("POW", three, [1, 2, 40])
    data = x(0, 3, dtype="int32")
    sheet.add("POW", data, given(2, "int32"))
    sheet.add("POW", data, x(0, 3, dtype="int32"))
    sheet.check()


EXPONENTS = [0, 1, 2, 3, 7, 100, 2.000001, 1.999995, 2.00002, 0.999999, 1e-6, 0.5, -2, 65537, 3e9]


def test_one_natural_exponent_of_float32_is_products_as_in_litert() -> None:
    sheet, data = Sheet(seed=2), given(REALS, "float32")
    for exponent in (*EXPONENTS, np.nan, np.inf):
        for make in (given, fixed):
            sheet.add("POW", data, make([[exponent]], "float32"))
    sheet.add("POW", data, given([2] * 13, "float32"))
    sheet.check()


test_what_is_refused = refused(
    ("has powers below 0", one("POW", x(3, dtype="int32"), [2, -1, 3])),
    ("from int32, float32 to int32", one("POW", x(3, dtype="int32"), fixed([2, 1, 3], "float32"))),
    ("from int64, int32 to int64", one("POW", x(3, dtype="int64"), [2, 1, 3])),
    ("of type float32, int16", one("PRELU", x(3, dtype="float32"), x(3, dtype="int16"))),
)


@pytest.mark.parametrize(("shape", "count"), [((3,), (3,)), ((1, 3), ())])
def test_negative_exponents_of_a_run_count_as_0(shape: Any, count: Any) -> None:
    data = given(np.reshape([2, 0, -7], shape), "int32")
    result = one("POW", data, given(np.full(count, -1), "int32")).run()
    np.testing.assert_array_equal(result, np.ones(shape, np.int32))
