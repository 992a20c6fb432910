"""Small files that ask for gigabytes."""

from typing import Any

import numpy as np
import pytest

from frontends.errors import UnsupportedOperatorError
from frontends.tflite import from_tflite
from tests.support.tflite import Sheet, check_refused, one, refused, x

WIDE = 1 << 15
NUMBER, SQUARE = x(1, 1, dtype="int32"), [WIDE, WIDE]
COLUMN, ROW = x(WIDE, 1, dtype="int32"), x(1, WIDE, dtype="int32")

BOMBS: list[tuple[str, list[Any], dict[str, Any]]] = [
    ("FILL", [SQUARE, 1], {"gives": "int32"}),
    ("BROADCAST_TO", [NUMBER, SQUARE], {}),
    ("TILE", [NUMBER, SQUARE], {}),
    ("ADD", [COLUMN, ROW], {}),
    ("ONE_HOT", [x(3, dtype="int32"), 2**31 - 1, 1, 0], {"axis": -1}),
    ("DILATE", [x(2, 2, dtype="int32"), SQUARE, 0], {}),
    ("PAD", [x(1, 4), [[2**30, 2**30], [0, 0]]], {}),
    ("RESIZE_NEAREST_NEIGHBOR", [x(1, 2, 2, 3), SQUARE], {"half_pixel_centers": True}),
    ("SCATTER_ND", [[[1]], ROW, SQUARE], {}),
    ("BATCH_MATMUL", [x(WIDE, 1), x(1, WIDE * 2)], {}),
]

test_no_operator_makes_gigabytes_of_little = refused(
    *(
        (f"{code}: (it makes a|a tensor has)", one(code, *operands, **options))
        for code, operands, options in BOMBS
    ),
    error=UnsupportedOperatorError,
)


def test_what_constants_make_adds_up() -> None:
    """It would be computed when the model is built, and stored in the library."""
    sheet = Sheet()
    for _ in range(5):
        sheet.add("NEG", sheet.made("FILL", [1 << 24], 3, gives="int32"))
    with pytest.raises(UnsupportedOperatorError, match="all results of constants") as caught:
        from_tflite(sheet.model())
    assert [index for index, *_ in caught.value.operators] == [4, 6, 8]


def test_an_input_is_as_large_as_someone_says() -> None:
    model = one("RELU", x(1, 4)).model()
    from_tflite(model, {"x1": (1 << 28, 4)})
    before, after = (np.array(each, np.int32).tobytes() for each in ([1, 4], [1 << 20] * 2))
    check_refused(model.replace(before, after), r"tensor 0 'x1', an input: .*1,099,511,627,776")
