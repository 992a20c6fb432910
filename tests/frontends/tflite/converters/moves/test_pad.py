"""PAD, PADV2, MIRROR_PAD, STABLEHLO_PAD, REVERSE_V2 and REVERSE_SEQUENCE."""

from typing import Any

import numpy as np
import pytest

from frontends.errors import ModelFormatError
from frontends.tflite.quantization import Quantization
from tests.support.arrays import any_of
from tests.support.tflite import (
    Operand,
    Q,
    Sheet,
    check_refused,
    fixed,
    given,
    one,
    random_quantization,
    refused,
    x,
)

SEVEN = fixed(7, "int8", Q)
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
    sheet.add("PAD", x(5, dtype=dtype), [[2, 1]])
    sheet.add("PAD", x(3, 4, dtype=dtype), [[1, 2], [0, 3]])
    sheet.check_reference()
    sheet.check()


test_what_does_not_fit = refused(
    (r"paddings must have shape \(2, 2\), got \(4, 2\)", one("PADV2", x(2, 3), WIDTHS, SEVEN)),
    (
        r"same scale and zero point, got \(0.25, 3\) and \(0.5, 3\)",
        one("PADV2", x(2, 3), WIDTHS[:2], fixed(7, "int8", Quantization.per_tensor(0.25, 3))),
    ),
    ("pad_width", one("PADV2", x(2, 3), -WIDTHS[1:3], SEVEN)),
    ("3 and 0 do not fit axis 0", one("MIRROR_PAD", x(3, 4), [[3, 0], [0, 0]], mode="REFLECT")),
    ("must have axes", one("REVERSE_V2", x(3, 4), [])),
    (
        "lengths outside of 0 to 4",
        one("REVERSE_SEQUENCE", x(2, 4, dtype="uint8"), [1, 5], seq_dim=1),
    ),
    ("lengths for 2 batches", one("REVERSE_SEQUENCE", x(2, 4, dtype="uint8"), [1], seq_dim=1)),
    ("axes 0 and 0", one("REVERSE_SEQUENCE", x(2, 4, dtype="uint8"), [1, 1], seq_dim=0)),
)


def test_mirrors_equal_litert() -> None:
    sheet, data = Sheet(seed=4), x(3, 4, 2)
    sheet.add("MIRROR_PAD", data, [[2, 1], [0, 3], [1, 1]], mode="REFLECT")
    sheet.add("MIRROR_PAD", data, [[3, 0], [4, 4], [0, 2]], mode="SYMMETRIC")
    sheet.add("REVERSE_V2", data, [1])
    sheet.add("REVERSE_V2", data, [-1])
    sheet.check()


@pytest.mark.parametrize("dtype", ["uint8", "int16", "int32", "float32"])
def test_reversed_sequences_equal_litert(dtype: str) -> None:
    sheet = Sheet(seed=5)
    for shape, along, batch in (((3, 4, 2, 2), 1, 0), ((3, 4, 2, 5), 0, 3), ((2, 6), 1, 0)):
        numbers = sheet.rng.integers(0, shape[along] + 1, shape[batch])
        encoding = Quantization.per_tensor(0.5, 0) if dtype == "int16" else Q
        data = x(*shape, dtype=dtype, encoding=encoding)
        for lengths in (given(numbers, "int64"), numbers):
            sheet.add("REVERSE_SEQUENCE", data, lengths, seq_dim=along, batch_dim=batch)
    sheet.check()


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


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "int32", "int64", "bool", "float32"])
def test_padded_tensors_equal_litert_s(dtype: str) -> None:
    sheet = Sheet(seed=1)
    encoding = Q if dtype in ("int8", "uint8") else None
    data, filler = (x(*shape, dtype=dtype, encoding=encoding) for shape in ((4, 5), ()))
    for case in CASES if dtype in ("int8", "float32") else CASES[2:7:2]:
        sheet.add("STABLEHLO_PAD", data, filler, **options(*case))
    each = options([0, 1, 0, 2], [1, 0, 0, -1], [0, 3, 1, 0])
    constant = fixed(any_of(sheet.rng, dtype, ()), dtype, encoding)
    volume = x(2, 1, 3, 2, dtype=dtype, encoding=encoding)
    sheet.add("STABLEHLO_PAD", volume, constant, **each)
    sheet.check()


def _around(*shape: int, filler: Operand | None = None, **options: Any) -> Sheet:
    return one("STABLEHLO_PAD", x(*shape), filler or given(1, "int8", Q), **options)


NONE, ONE = [0, 0], options([1], [0], [0])

test_what_is_refused = refused(
    ("low must have a number for each of 2 axes, got", _around(4, 5, **options([0], NONE, NONE))),
    ("interior.*have a number for each of 2 axes, got", _around(4, 5, **options(NONE, NONE, []))),
    (r"interior.* 0 to 2147483647, got \(0, -1\)", _around(4, 5, **options(NONE, NONE, [0, -1]))),
    ("edge_padding_low must be", _around(4, 5, **options([0, 2**40], NONE, NONE))),
    ("is too large", _around(4, 5, **options([2**31 - 1, 0], NONE, NONE))),
    ("is too large", _around(4, 5, **options([2**20, 2**20], NONE, NONE))),
    ("edge_padding_low must have a number for each of 1 axes", _around(4)),
    ("must be one int8", _around(4, filler=given(1, "float32", Q), **ONE)),
    ("must be one int8", _around(4, filler=given([1, 2], "int8", Q), **ONE)),
)


def test_vectors_of_options_end_in_the_file() -> None:
    model = _around(4, **options([77], [66], [55])).model()
    place = model.index((77).to_bytes(8, "little")) - 4
    damaged = model[:place] + (2**31 - 1).to_bytes(4, "little") + model[place + 4 :]
    check_refused(damaged, "EdgePaddingLow has 2147483647 elements", ModelFormatError)
