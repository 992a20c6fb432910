"""Operators on float32 tensors, which stand between DEQUANTIZE and QUANTIZE in some models."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

from frontends.tflite import from_tflite
from frontends.tflite.reader import read_model
from tests.support.tflite import Sheet
from tvm_qnn import build
from tvm_qnn.oracle import litert_tensors


def check_close(sheet: Sheet) -> None:
    model = sheet.model()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        mod, params = from_tflite(model, outputs="all")
    results = build(mod, "llvm", params).run(*sheet.arrays)
    results = results if isinstance(results, dict) else {"": results}
    expected = litert_tensors(model, sheet.arrays)
    for index, result in zip(read_model(model).computed, results.values(), strict=True):
        # Two compilers and two libraries of elementary functions round float32 differently.
        np.testing.assert_allclose(result, expected[index], rtol=2e-5, atol=2e-6)


def _positive(sheet: Sheet) -> Any:
    return sheet.input(sheet.rng.uniform(0.1, 8, (2, 3, 4)).astype(np.float32))


def _any(sheet: Sheet, shape: tuple[int, ...] = (2, 3, 4)) -> Any:
    return sheet.input(sheet.rng.normal(0, 4, shape).astype(np.float32))


def test_functions_of_one_operand() -> None:
    sheet = Sheet(seed=31)
    result = ((2, 3, 4), "float32", None)
    for code in ("ABS", "COS", "EXP", "FLOOR", "HARD_SWISH", "LOGISTIC", "NEG", "RELU"):
        sheet.operator(code, [_any(sheet)], result)
    for code in ("RELU6", "RELU_N1_TO_1", "SIN", "SQUARE", "TANH", "L2_NORMALIZATION"):
        sheet.operator(code, [_any(sheet)], result)
    for code in ("LOG", "RSQRT", "SQRT"):
        sheet.operator(code, [_positive(sheet)], result)
    sheet.operator("LEAKY_RELU", [_any(sheet)], result, alpha=0.3)
    sheet.operator("SOFTMAX", [_any(sheet)], result, beta=0.5)
    alpha = sheet.constant(np.array([0.1, -0.5, 2, 0], np.float32))
    sheet.operator("PRELU", [_any(sheet, (1, 2, 3, 4)), alpha], ((1, 2, 3, 4), "float32", None))
    check_close(sheet)


def test_functions_without_a_reference_kernel() -> None:
    sheet = Sheet(seed=32)
    data = _any(sheet)
    sheet.operator("ELU", [data], ((2, 3, 4), "float32", None))
    sheet.operator("CEIL", [data], ((2, 3, 4), "float32", None))
    mod, params = from_tflite(sheet.model())
    (x,) = sheet.arrays
    elu, ceiling = build(mod, "llvm", params).run(x).values()
    # exp(x) - 1 instead of expm1(x) loses the last digits of small results.
    expected = np.where(x > 0, x, np.expm1(np.minimum(x, 0).astype(np.float64)))
    np.testing.assert_allclose(elu, expected, rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(ceiling, np.ceil(x))


def test_functions_of_two_operands() -> None:
    sheet = Sheet(seed=33)
    result = ((2, 3, 4), "float32", None)
    for code in ("ADD", "SUB", "MUL", "DIV", "MAXIMUM", "MINIMUM", "POW", "SQUARED_DIFFERENCE"):
        operands = [_positive(sheet), sheet.constant(np.array([1.5, 0.5, 2, 3], np.float32))]
        sheet.operator(code, operands, result)
    sheet.operator("ADD", [_any(sheet), _any(sheet)], result, fused_activation_function="RELU6")
    check_close(sheet)


def test_functions_along_axes() -> None:
    sheet = Sheet(seed=34)
    for code in ("MEAN", "SUM", "REDUCE_MAX", "REDUCE_MIN", "REDUCE_PROD"):
        operands = [_any(sheet), sheet.constant([0, -1])]
        sheet.operator(code, operands, ((3,), "float32", None), keep_dims=False)
    sheet.operator("CONCATENATION", [_any(sheet), _any(sheet)], ((4, 3, 4), "float32", None))
    widths = sheet.constant([[0, 1], [2, 0], [1, 1]])
    sheet.operator("PAD", [_any(sheet), widths], ((3, 5, 6), "float32", None))
    check_close(sheet)


@pytest.mark.parametrize("code", ["CONV_2D", "FULLY_CONNECTED"])
def test_layers_are_quantized_or_nothing(code: str) -> None:
    sheet = Sheet()
    operands = [_any(sheet, (1, 4)), sheet.constant(np.ones((2, 4), np.float32))]
    options = {"stride_h": 1, "stride_w": 1, "dilation_h_factor": 1, "dilation_w_factor": 1}
    sheet.operator(
        code, operands, ((1, 2), "float32", None), **(options if code == "CONV_2D" else {})
    )
    with pytest.raises(ValueError, match="no conversion rule for tensors of type float32"):
        from_tflite(sheet.model())
