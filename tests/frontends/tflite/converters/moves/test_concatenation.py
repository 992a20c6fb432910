"""CONCATENATION, PACK, UNPACK, SPLIT and SPLIT_V."""

from __future__ import annotations

import numpy as np
import pytest

from frontends.tflite.quantization import Quantization
from tests.support.arrays import full_range
from tests.support.tflite import Sheet, random_quantization


def add_concatenation(sheet: Sheet, dtype: str, axis: int) -> None:
    rng = sheet.rng
    result = random_quantization(rng, dtype)
    operands = []
    for _ in range(int(rng.integers(1, 5))):
        shape = [2, 3, 4]
        shape[axis] = int(rng.integers(1, 5))
        own = random_quantization(rng, dtype) if dtype == "uint8" and rng.random() < 0.7 else result
        operands.append(sheet.random_input(shape, dtype, own))
    sheet.operator("CONCATENATION", operands, ((1,), dtype, result), axis=axis)


@pytest.mark.parametrize("dtype", ["uint8", "int8"])
def test_concatenations_equal_litert(dtype: str) -> None:
    sheet = Sheet(seed=13)
    for index in range(30):
        add_concatenation(sheet, dtype, [0, 1, 2, -1, -2][index % 5])
    sheet.check_reference()


def test_compiled_concatenations_equal_litert() -> None:
    sheet = Sheet(seed=14)
    add_concatenation(sheet, "uint8", -1)
    add_concatenation(sheet, "int8", 1)
    sheet.check()


def test_int8_inputs_of_another_scale() -> None:
    sheet = Sheet()
    first = sheet.random_input((2, 3), "int8", Quantization.per_tensor(0.5, 3))
    second = sheet.random_input((2, 3), "int8", Quantization.per_tensor(0.5, 4))
    result = ((4, 3), "int8", Quantization.per_tensor(0.5, 3))
    sheet.operator("CONCATENATION", [first, second], result, axis=0)
    message = (
        r"operator 0 CONCATENATION \('x1', 'x2', 'y3'\): tensor 1 'x2' and tensor 2 'y3' must "
        r"have the same scale and zero point, got \(0.5, 4\) and \(0.5, 3\)"
    )
    sheet.check_refused(message)


def test_a_fused_activation() -> None:
    sheet = Sheet()
    quantization = Quantization.per_tensor(0.5, 3)
    data = sheet.random_input((2, 3), "uint8", quantization)
    result = ((4, 3), "uint8", quantization)
    sheet.operator("CONCATENATION", [data, data], result, fused_activation_function="RELU")
    sheet.check_refused("CONCATENATION: fused activation RELU")


@pytest.mark.parametrize("stated", [True, False])
def test_uint8_tensors_of_which_some_state_no_scale_equal_litert(stated: bool) -> None:
    sheet = Sheet(seed=15)
    result = Quantization.per_tensor(0.4, 7) if stated else None
    scaled = sheet.random_input((2, 3), "uint8", Quantization.per_tensor(0.5, 3))
    alike = sheet.random_input((2, 3), "uint8", Quantization.per_tensor(0.4, 7))
    plain = sheet.input(full_range(sheet.rng, "uint8", (2, 2)))
    operands = [scaled, plain, alike]
    sheet.operator("CONCATENATION", operands, ((2, 8), "uint8", result), axis=1)
    sheet.check()


def test_int8_tensors_of_which_some_state_no_scale() -> None:
    sheet = Sheet()
    data = sheet.random_input((2, 3), "int8", Quantization.per_tensor(0.5, 0))
    plain = sheet.input(full_range(sheet.rng, "int8", (2, 3)))
    sheet.operator("CONCATENATION", [data, plain], ((2, 6), "int8", None), axis=1)
    sheet.check_refused("some tensors state a scale and zero point")


Q = Quantization.per_tensor(0.5, 3)
ANY = (1,)  # a declared shape: LiteRT works shapes out by itself


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_stacks_and_parts_equal_litert(axis: int) -> None:
    sheet = Sheet(seed=1)
    data, other = (sheet.random_input((2, 3), "int8", Q) for _ in range(2))
    sheet.operator("PACK", [data, other, data], (ANY, "int8", Q), axis=axis, values_count=3)
    parts = [(ANY, "int8", Q)] * (2 if axis == 0 else 3)
    sheet.operator("UNPACK", [data], *parts, axis=axis, num=len(parts))
    numbers = sheet.input(np.arange(6, dtype=np.int32).reshape(2, 3))
    sheet.operator("PACK", [numbers], (ANY, "int32", None), axis=axis, values_count=1)
    sheet.check()


def test_encodings_must_be_the_same() -> None:
    sheet = Sheet()
    data = sheet.random_input((2, 3), "int8", Q)
    result = (ANY, "int8", Quantization.per_tensor(0.5, 4))
    sheet.operator("PACK", [data], result, axis=0, values_count=1)
    sheet.check_refused("must have the same scale and zero point")


def test_the_count_of_parts_must_fit() -> None:
    sheet = Sheet()
    data = sheet.random_input((2, 3), "int8", Q)
    sheet.operator("UNPACK", [data], *[(ANY, "int8", Q)] * 2, axis=1, num=2)
    sheet.check_refused("unpacks 2 along axis 1")
