"""Bitwise operators, shifts, operators of StableHLO on integers, and BITCAST."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from frontends.tflite.quantization import Quantization
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
    sheet.check_refused(r"from .'int16', 'int32'. to int32")


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
    sheet.check_refused(r"shapes \(2, 3\) and \(3,\) differ")


ANY = (1,)  # a declared shape: LiteRT works shapes out by itself
TYPES = ("int8", "uint8", "int16", "int32", "int64")


def test_integers_read_as_others_equal_litert() -> None:
    sheet = Sheet(seed=3)
    for source, dtype in product(TYPES, TYPES):
        parts = max(np.dtype(dtype).itemsize // np.dtype(source).itemsize, 1)
        shape = (2, 3, parts) if parts > 1 else (2, 3)
        data = sheet.input(full_range(sheet.rng, source, shape))
        sheet.operator("BITCAST", [data], (ANY, dtype, None))
    for dtype in ("float32", "bool"):
        data = sheet.input(sheet.rng.normal(0, 1, 4).astype(dtype))
        sheet.operator("BITCAST", [data], (ANY, dtype, None))
    sheet.check()


def test_bits_of_float32_equal_litert_s() -> None:
    sheet = Sheet(seed=5)
    reals = sheet.rng.normal(0, 1, (4, 2)).astype(np.float32)
    reals[0] = [-0.0, np.inf]
    data = sheet.input(reals)
    for dtype in (*TYPES, "float32"):
        sheet.operator("BITCAST", [data], (ANY, dtype, None))
        parts = (2,) if dtype == "int64" else (4,)
        # Numbers whose bits are also ones of float32.
        bits = reals.view(dtype).reshape(-1, *parts)
        if np.dtype(dtype).itemsize < 4:
            bits = reals.view(dtype).reshape(-1, 4 // np.dtype(dtype).itemsize)
        sheet.operator("BITCAST", [sheet.input(bits)], (ANY, "float32", None))
    sheet.check()


def test_bytes_are_signed_by_a_bitcast() -> None:
    sheet = Sheet(seed=4)
    data = sheet.random_input((1, 9), "uint8", Quantization.per_tensor(0.1, 7))
    quantization = Quantization.per_tensor(0.1, -121)
    sheet.operator("BITCAST", [data], (ANY, "int8", quantization))
    sheet.check()


@pytest.mark.parametrize(
    ("source", "dtype", "message"),
    [
        ("float32", "bool", "from float32 to bool"),
        ("float32", "int64", r"has shape \(3,\), needs 2 at its end"),
        ("int8", "int32", r"has shape \(3,\), needs 4 at its end"),
    ],
)
def test_what_is_refused(source: str, dtype: str, message: str) -> None:
    sheet = Sheet()
    data = sheet.input(np.zeros(3, source))
    sheet.operator("BITCAST", [data], (ANY, dtype, None))
    sheet.check_refused(message)
