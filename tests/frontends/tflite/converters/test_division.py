from __future__ import annotations

import warnings

import numpy as np
import pytest

from frontends.tflite import from_tflite
from frontends.tflite.quantization import Quantization
from qnn_ops import QnnError
from tests.support.arrays import full_range
from tests.support.tflite import Sheet, random_quantization


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
        with pytest.raises(QnnError, match=f"{code} .*divides by 0, which tensor 1 'c2' has"):
            from_tflite(sheet.model())


def test_types_that_litert_does_not_divide() -> None:
    sheet = Sheet()
    data = sheet.input(np.ones(3, np.uint8), Quantization.per_tensor(0.5, 3))
    sheet.operator("FLOOR_DIV", [data, data], ((3,), "uint8", Quantization.per_tensor(0.5, 3)))
    with pytest.raises(QnnError, match="FLOOR_DIV: of uint8"):
        from_tflite(sheet.model())
