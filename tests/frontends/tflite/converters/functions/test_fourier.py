"""RFFT2D, and the operators that read its result."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from tests.support.tflite import Sheet, given, refused

CODES = ("COMPLEX_ABS", "REAL", "IMAG")


def spectrum(
    shape: tuple[int, ...],
    lengths: tuple[int, int],
    codes: Sequence[str] = CODES,
    steps: Sequence[tuple[str, list[Any], dict[str, Any]]] = (),
) -> Sheet:
    """Return a transform that operators give other shapes, and parts of it; without parts it."""
    sheet = Sheet()
    data = given(sheet.rng.normal(size=shape), "float32")
    made = sheet.made("RFFT2D", data, lengths, gives="complex64")
    for code, operands, options in steps:
        made = sheet.made(code, sheet.inside(made), *operands, **options)
    if codes:
        sheet.inside(made)
    for code in codes:
        sheet.add(code, made, gives="float32")
    return sheet


def check_near(sheet: Sheet) -> None:
    """Compare with LiteRT."""
    # Both sum in float64. LiteRT rounds to float32 once more before it takes the size.
    bound = 2.0**-22 * np.abs(sheet.arrays[0]).sum(axis=(-2, -1)).max()
    for result, wanted in sheet.outputs():
        assert result.shape == wanted.shape
        assert result.dtype == wanted.dtype
        np.testing.assert_allclose(result, wanted, rtol=0, atol=bound)


@pytest.mark.parametrize(
    ("shape", "lengths"),
    [((2, 3, 1, 400), (1, 512)), ((2, 6, 5), (8, 8)), ((9, 20), (4, 16)), ((3, 1), (2, 2))],
)
def test_transforms_are_near_litert_s(shape: tuple[int, ...], lengths: tuple[int, int]) -> None:
    check_near(spectrum(shape, lengths))


def test_complex_tensors_take_other_shapes() -> None:
    steps: list[tuple[str, list[Any], dict[str, Any]]] = [
        ("SQUEEZE", [], {"squeeze_dims": [1]}),
        ("EXPAND_DIMS", [-1], {}),
        ("SQUEEZE", [], {}),
        ("RESHAPE", [[-1, 17]], {}),
    ]
    sheet = spectrum((3, 1, 30), (1, 32), CODES[:1], steps)
    assert sheet.outputs()[0][0].shape == (3, 17)
    check_near(sheet)


_SMALL = (2, 8)
_REAL = {"gives": "float32"}

test_what_is_refused = refused(
    ("no powers of two", spectrum(_SMALL, (1, 6))),
    ("rows of one value", spectrum(_SMALL, (2, 1))),
    ("complex, and an output", spectrum(_SMALL, (1, 8), ())),
    ("is complex", spectrum(_SMALL, (1, 8), ("CAST",))),
    # A shape is that of whole complex numbers.
    (
        r"of shape \(3, 1, 17\) to \[3, 34\]",
        spectrum((3, 1, 30), (1, 32), CODES[:1], [("RESHAPE", [[3, 34]], {})]),
    ),
    (
        r"is complex64, .* is float32",
        spectrum((3, 1, 30), (1, 32), (), [("RESHAPE", [[3, 17]], _REAL)]),
    ),
)
