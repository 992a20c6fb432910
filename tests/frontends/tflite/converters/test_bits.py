from __future__ import annotations

import numpy as np
import pytest

from frontends.tflite import from_tflite
from frontends.tflite.quantization import Quantization
from qnn_ops import QnnError
from tests.support.arrays import full_range
from tests.support.tflite import Sheet

Q = Quantization.per_tensor(0.5, 3)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "int32"])
def test_bits_equal_litert_s(dtype: str) -> None:
    sheet = Sheet(seed=12)
    encoding = Q if dtype in ("int8", "uint8") else None
    result = ((3, 40), dtype, encoding)
    data = sheet.input(full_range(sheet.rng, dtype, (3, 40)), encoding)
    other = sheet.input(full_range(sheet.rng, dtype, (40,)), encoding)
    low = 0 if dtype == "uint8" else -3
    counts = sheet.input(sheet.rng.integers(low, 40, (40,)).astype(dtype), encoding)
    sheet.operator("BITWISE_XOR", [data, other], result)
    sheet.operator("RIGHT_SHIFT", [data, counts], result)
    sheet.check()


@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "int64", "float32"])
def test_operators_of_stablehlo_equal_litert_s(dtype: str) -> None:
    sheet = Sheet(seed=13)
    arrays = [
        sheet.rng.normal(0, 9, (3, 4)).astype(np.float32)
        if dtype == "float32"
        else full_range(sheet.rng, dtype, (3, 4))
        for _ in range(2)
    ]
    encoding = Q if dtype == "int8" else None
    operands = [sheet.input(array, encoding) for array in arrays]
    for code in ("ADD", "MULTIPLY", "MAXIMUM", "MINIMUM"):
        sheet.operator(f"STABLEHLO_{code}", operands, ((3, 4), dtype, encoding))
    sheet.check()


def test_operators_of_stablehlo_on_bool_equal_litert_s() -> None:
    sheet = Sheet(seed=14)
    operands = [sheet.input(sheet.rng.random((3, 8)) < 0.5) for _ in range(2)]
    for code in ("ADD", "MULTIPLY", "MAXIMUM", "MINIMUM"):
        sheet.operator(f"STABLEHLO_{code}", operands, ((3, 8), "bool", None))
    sheet.check()


def test_types_must_be_one() -> None:
    sheet = Sheet()
    operands = [sheet.input(np.zeros(3, each)) for each in ("int32", "int16")]
    sheet.operator("BITWISE_XOR", operands, ((3,), "int32", None))
    with pytest.raises(QnnError, match=r"from .'int16', 'int32'. to int32"):
        from_tflite(sheet.model())


def test_bits_without_a_reference_kernel() -> None:
    sheet = Sheet(seed=15)
    for dtype in ("int8", "uint8", "int16", "int32", "int64", "bool"):
        draw = sheet.rng.random((3, 9)) < 0.5
        encoding = Q if dtype in ("int8", "uint8") else None
        data, other = (
            sheet.input(draw if dtype == "bool" else full_range(sheet.rng, dtype, (3, 9)), encoding)
            for _ in range(2)
        )
        sheet.operator("STABLEHLO_AND", [data, other], ((3, 9), dtype, encoding))
        if dtype in ("int8", "int16", "int32"):
            counts = sheet.input(sheet.rng.integers(0, 32, (3, 9)).astype(dtype), encoding)
            sheet.operator("STABLEHLO_SHIFT_LEFT", [data, counts], ((3, 9), dtype, encoding))
    sheet.check_default()


def test_all_bits_leave_by_a_count_outside() -> None:
    sheet = Sheet()
    data, counts = (sheet.input(np.array(each, np.int32)) for each in ([3] * 4, [-1, 31, 32, 2]))
    sheet.operator("STABLEHLO_SHIFT_LEFT", [data, counts], ((4,), "int32", None))
    assert sheet.run().tolist() == [0, -(2**31), 0, 12]


def test_shapes_must_be_one() -> None:
    sheet = Sheet()
    operands = [sheet.input(np.zeros(shape, np.int8)) for shape in ((2, 3), (3,))]
    sheet.operator("STABLEHLO_AND", operands, ((2, 3), "int8", None))
    with pytest.raises(QnnError, match=r"shapes \(2, 3\) and \(3,\) differ"):
        from_tflite(sheet.model())
