"""Small files that ask for gigabytes."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from frontends.errors import UnsupportedOperatorError
from frontends.tflite import from_tflite
from frontends.tflite.quantization import Quantization
from tests.support.tflite import Sheet, check_refused

Q = Quantization.per_tensor(0.5, 3)
WIDE = 1 << 15


def one(code: str, operands: Sequence[Any], dtype: str = "int8", **options: Any) -> bytes:
    """Return a file of one operator, of an input where an operand is a shape, and of constants."""
    sheet = Sheet()
    numbers = [
        sheet.input(np.zeros(each, dtype), Q if dtype == "int8" else None)
        if isinstance(each, tuple)
        else sheet.bias(np.asarray(each))
        for each in operands
    ]
    if not any(isinstance(each, tuple) for each in operands):
        sheet.random_input((1,), "int8", Q)
    sheet.operator(code, numbers, ((1,), dtype, Q if dtype == "int8" else None), **options)
    return sheet.model()


def sizes(*numbers: int) -> np.ndarray[Any, Any]:
    return np.array(numbers, np.int32)


ZERO, ONE = np.array(0, np.int32), np.array(1, np.int32)

BOMBS: dict[str, bytes] = {
    "FILL": one("FILL", [sizes(WIDE, WIDE), ONE], "int32"),
    "BROADCAST_TO": one("BROADCAST_TO", [(1, 1), sizes(WIDE, WIDE)], "int32"),
    "TILE": one("TILE", [(1, 1), sizes(WIDE, WIDE)], "int32"),
    "ADD": one("ADD", [(WIDE, 1), (1, WIDE)], "int32"),
    "ONE_HOT": one("ONE_HOT", [(3,), np.array(2**31 - 1, np.int32), ONE, ZERO], "int32", axis=-1),
    "DILATE": one("DILATE", [(2, 2), sizes(WIDE, WIDE), ZERO], "int32"),
    "PAD": one("PAD", [(1, 4), np.array([[2**30, 2**30], [0, 0]], np.int32)]),
    "RESIZE_NEAREST_NEIGHBOR": one(
        "RESIZE_NEAREST_NEIGHBOR", [(1, 2, 2, 3), sizes(WIDE, WIDE)], half_pixel_centers=True
    ),
    "SCATTER_ND": one("SCATTER_ND", [sizes(1)[None], (1, WIDE), sizes(WIDE, WIDE)], "int32"),
    "BATCH_MATMUL": one("BATCH_MATMUL", [(WIDE, 1), (1, WIDE * 2)]),
}


@pytest.mark.parametrize("code", BOMBS)
def test_no_operator_makes_gigabytes_of_little(code: str) -> None:
    check_refused(BOMBS[code], f"{code}: (it makes a|a tensor has)", UnsupportedOperatorError)


def test_what_constants_make_adds_up() -> None:
    """It would be computed when the model is built, and stored in the library."""
    sheet = Sheet()
    sheet.random_input((1,), "int8", Q)
    for _ in range(5):
        filled = sheet.operator("FILL", [sheet.constant([1 << 24]), sheet.constant(3)], ANY)
        sheet.operator("NEG", [filled], ANY)
    with pytest.raises(UnsupportedOperatorError, match="all results of constants") as caught:
        from_tflite(sheet.model())
    assert [index for index, *_ in caught.value.operators] == [4, 6, 8]


ANY = ((1,), "int32", None)


def test_an_input_is_as_large_as_someone_says() -> None:
    sheet = Sheet()
    data = sheet.random_input((1, 4), "int8", Q)
    sheet.operator("RELU", [data], ((1, 4), "int8", Q))
    from_tflite(sheet.model(), {"x1": (1 << 28, 4)})
    before, after = (np.array(each, np.int32).tobytes() for each in ([1, 4], [1 << 20] * 2))
    check_refused(
        sheet.model().replace(before, after), r"tensor 0 'x1', an input: .*1,099,511,627,776"
    )
