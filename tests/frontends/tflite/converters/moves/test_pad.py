"""PAD, PADV2, MIRROR_PAD, STABLEHLO_PAD, REVERSE_V2 and REVERSE_SEQUENCE."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from frontends.errors import ModelFormatError
from frontends.tflite.quantization import Quantization
from tests.support.arrays import full_range
from tests.support.tflite import Sheet, check_refused, random_quantization

WIDTHS = np.array([[0, 0], [1, 2], [0, 3], [2, 0]], np.int32)


@pytest.mark.parametrize("dtype", ["uint8", "int8"])
def test_padding_equals_litert(dtype: str) -> None:
    sheet = Sheet(seed=15)
    for code, widths in [("PAD", WIDTHS), ("PAD", WIDTHS.astype(np.int64)), ("PADV2", WIDTHS)]:
        quantization = random_quantization(sheet.rng, dtype)
        data = sheet.random_input((1, 2, 3, 2), dtype, quantization)
        operands = [data, sheet.constant(widths)]
        if code == "PADV2":
            operands.append(sheet.constant(np.array(77, dtype), quantization))
        sheet.operator(code, operands, ((1,), dtype, quantization))
    sheet.check_reference()
    sheet.check()


def _pad(widths: np.ndarray, value_scale: float) -> bytes:
    sheet = Sheet()
    quantization = Quantization.per_tensor(0.5, 3)
    data = sheet.random_input((2, 3), "int8", quantization)
    value = sheet.constant(np.array(7, np.int8), Quantization.per_tensor(value_scale, 3))
    sheet.operator("PADV2", [data, sheet.constant(widths), value], ((1,), "int8", quantization))
    return sheet.model()


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (_pad(WIDTHS, 0.5), r"paddings must have shape \(2, 2\), got \(4, 2\)"),
        (_pad(WIDTHS[:2], 0.25), r"same scale and zero point, got \(0.25, 3\) and \(0.5, 3\)"),
        (_pad(-WIDTHS[1:3], 0.5), r"pad_width"),
    ],
)
def test_paddings_that_do_not_fit(model: bytes, message: str) -> None:
    check_refused(model, message)


Q = Quantization.per_tensor(0.5, 3)
ANY = (1,)  # a declared shape: LiteRT works shapes out by itself


def test_mirrors_equal_litert() -> None:
    sheet = Sheet(seed=4)
    data = sheet.random_input((3, 4, 2), "int8", Q)
    result = (ANY, "int8", Q)
    for mode, widths in (
        ("REFLECT", [[2, 1], [0, 3], [1, 1]]),
        ("SYMMETRIC", [[3, 0], [4, 4], [0, 2]]),
    ):
        sheet.operator("MIRROR_PAD", [data, sheet.constant(widths)], result, mode=mode)
    sheet.operator("REVERSE_V2", [data, sheet.constant([1])], result)
    sheet.operator("REVERSE_V2", [data, sheet.constant([-1])], result)
    sheet.check()


def test_paddings_must_be_within_the_data() -> None:
    sheet = Sheet()
    data = sheet.random_input((3, 4), "int8", Q)
    widths = sheet.constant([[3, 0], [0, 0]])
    sheet.operator("MIRROR_PAD", [data, widths], (ANY, "int8", Q), mode="REFLECT")
    sheet.check_refused("paddings 3 and 0 do not fit axis 0")


def test_there_must_be_axes_to_reverse() -> None:
    sheet = Sheet()
    data = sheet.random_input((3, 4), "int8", Q)
    sheet.operator("REVERSE_V2", [data, sheet.constant(np.zeros(0, np.int32))], (ANY, "int8", Q))
    sheet.check_refused("must have axes")


@pytest.mark.parametrize("dtype", ["uint8", "int16", "int32", "float32"])
def test_reversed_sequences_equal_litert(dtype: str) -> None:
    sheet = Sheet(seed=5)
    encoding = {"uint8": Q, "int16": Quantization.per_tensor(0.5, 0)}.get(dtype)
    for shape, along, batch in (((3, 4, 2, 2), 1, 0), ((3, 4, 2, 5), 0, 3), ((2, 6), 1, 0)):
        data = sheet.input(sheet.rng.integers(0, 99, shape).astype(dtype), encoding)
        numbers = sheet.rng.integers(0, shape[along] + 1, shape[batch])
        for lengths in (sheet.input(numbers.astype(np.int64)), sheet.constant(numbers)):
            result = (shape, dtype, encoding)
            sheet.operator(
                "REVERSE_SEQUENCE", [data, lengths], result, seq_dim=along, batch_dim=batch
            )
    sheet.check()


@pytest.mark.parametrize(
    ("lengths", "along", "message"),
    [
        ([1, 5], 1, "outside of 0 to 4"),
        ([1], 1, "lengths for 2 batches"),
        ([1, 1], 0, "axes 0 and 0"),
    ],
)
def test_lengths_must_fit(lengths: list[int], along: int, message: str) -> None:
    sheet = Sheet()
    data = sheet.random_input((2, 4), "uint8", Q)
    operands = [data, sheet.constant(lengths)]
    sheet.operator("REVERSE_SEQUENCE", operands, ((2, 4), "uint8", Q), seq_dim=along)
    sheet.check_refused(message)


CASES = [
    ([0, 0], [0, 0], [0, 0]),
    ([1, 2], [0, 3], [0, 0]),
    ([0, 1], [2, 0], [1, 2]),
    ([-1, 0], [0, -2], [0, 0]),
    ([-1, -3], [1, -1], [2, 3]),
    ([-4, 0], [9, 0], [1, 0]),
    ([5, 0], [-9, 1], [3, 0]),
    ([-2, -5], [-1, 4], [1, 1]),
    # Of a result that lacks elements along an axis, no axis has any.
    ([-4, 0], [0, 0], [0, 0]),
    ([-9, 0], [0, 0], [0, 0]),
]


def options(low: list[int], high: list[int], between: list[int]) -> dict[str, Any]:
    return {"edge_padding_low": low, "edge_padding_high": high, "interior_padding": between}


def numbers(sheet: Sheet, dtype: str, shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    if dtype == "bool":
        return sheet.rng.random(shape) < 0.5
    if dtype == "float32":
        return sheet.rng.normal(0, 1, shape).astype(np.float32)
    return full_range(sheet.rng, dtype, shape)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "int32", "int64", "bool", "float32"])
def test_padded_tensors_equal_litert_s(dtype: str) -> None:
    sheet = Sheet(seed=1)
    encoding = Q if dtype in ("int8", "uint8") else None
    data = sheet.input(numbers(sheet, dtype, (4, 5)), encoding)
    filler = sheet.input(numbers(sheet, dtype, ()), encoding)
    for case in CASES if dtype in ("int8", "float32") else CASES[2:7:2]:
        sheet.operator("STABLEHLO_PAD", [data, filler], (ANY, dtype, encoding), **options(*case))
    constant = sheet.bias(numbers(sheet, dtype, ()), encoding)
    volume = sheet.input(numbers(sheet, dtype, (2, 1, 3, 2)), encoding)
    each = options([0, 1, 0, 2], [1, 0, 0, -1], [0, 3, 1, 0])
    sheet.operator("STABLEHLO_PAD", [volume, constant], (ANY, dtype, encoding), **each)
    sheet.check()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (([0], [0, 0], [0, 0]), "edge_padding_low must have a number for each of 2 axes, got"),
        (([0, 0], [0, 0], []), "interior_padding must have a number for each of 2 axes, got"),
        (([0, 0], [0, 0], [0, -1]), r"interior_padding must be 0 to 2147483647, got \(0, -1\)"),
        (([0, 2**40], [0, 0], [0, 0]), "edge_padding_low must be"),
        (([2**31 - 1, 0], [0, 0], [0, 0]), "is too large"),
        (([2**20, 2**20], [0, 0], [0, 0]), "is too large"),
    ],
)
def test_what_is_refused(given: tuple[list[int], ...], message: str) -> None:
    sheet = Sheet()
    data, filler = sheet.input(np.zeros((4, 5), np.int8), Q), sheet.input(np.array(1, np.int8), Q)
    sheet.operator("STABLEHLO_PAD", [data, filler], (ANY, "int8", Q), **options(*given))
    sheet.check_refused(message)


@pytest.mark.parametrize(
    ("filler", "dtype"), [(np.array(1.0, np.float32), "float32"), ([1, 2], "int8")]
)
def test_the_filler_is_one_value_of_the_data_s_type(filler: Any, dtype: str) -> None:
    sheet = Sheet()
    data, value = sheet.input(np.zeros(4, np.int8), Q), sheet.input(np.asarray(filler, dtype), Q)
    given = options([1], [0], [0])
    sheet.operator("STABLEHLO_PAD", [data, value], (ANY, "int8", Q), **given)
    sheet.check_refused("must be one int8")


def test_vectors_of_options_end_in_the_file() -> None:
    sheet = Sheet()
    data, filler = sheet.input(np.zeros(4, np.int8), Q), sheet.input(np.array(1, np.int8), Q)
    given = options([77], [66], [55])
    sheet.operator("STABLEHLO_PAD", [data, filler], (ANY, "int8", Q), **given)
    model = sheet.model()
    place = model.index((77).to_bytes(8, "little")) - 4
    damaged = model[:place] + (2**31 - 1).to_bytes(4, "little") + model[place + 4 :]
    check_refused(damaged, "EdgePaddingLow has 2147483647 elements", ModelFormatError)


def test_options_may_be_missing() -> None:
    sheet = Sheet()
    data, filler = sheet.input(np.zeros(4, np.int8), Q), sheet.input(np.array(1, np.int8), Q)
    sheet.operator("STABLEHLO_PAD", [data, filler], (ANY, "int8", Q))
    sheet.check_refused("edge_padding_low must have a number for each of 1 axes")
