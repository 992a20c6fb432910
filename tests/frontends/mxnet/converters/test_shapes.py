"""Operators that change the shape or the order of axes, and no value."""

from __future__ import annotations

import pytest

from frontends.mxnet.converters.shapes import new_shape
from qnn_ops.errors import QnnError


# What MXNet 1.9.1 gives.
@pytest.mark.parametrize(
    ("shape", "codes", "is_reverse", "expected"),
    [
        ((2, 3, 4), (4, 0, 2), False, (4, 3, 2)),
        ((2, 3, 4), (6, 1, -1), False, (6, 1, 4)),
        ((2, 3, 4), (-2,), False, (2, 3, 4)),
        ((2, 3, 4), (0, 0, 0, 1), False, (2, 3, 4, 1)),
        ((2, 3, 4), (-1, -2), False, (2, 3, 4)),
        ((2, 3, 4), (1, 0, -1), False, (1, 3, 8)),
        ((10, 5, 4), (-1, 0), False, (40, 5)),
        ((10, 5, 4), (-1, 0), True, (50, 4)),
        ((2, 3, 4), (-3, 0), True, (6, 4)),
        ((2, 6), (0, 2, -1, -4), True, (2, 2, 3)),
        ((2, 6), (0, -4, -1, 3), False, (2, 2, 3)),
    ],
)
def test_codes(
    shape: tuple[int, ...], codes: tuple[int, ...], is_reverse: bool, expected: tuple[int, ...]
) -> None:
    assert new_shape(shape, codes, is_reverse=is_reverse) == expected


@pytest.mark.parametrize(
    ("codes", "message"),
    [
        ((0, 0, 0, 0), "asks for more axes"),
        ((0, 0, -3), "asks for more axes"),
        ((-4, 2), "asks for more axes"),
        ((-1, -1), "does not fit"),
        ((5, -1), "does not fit"),
        ((2, 3), "does not fit"),
        ((-5, 3), "does not fit"),
        ((-4, 3, -1, -2), "cannot be split into 3 and 0"),
        ((-4, -1, -1, -2), "cannot be split"),
    ],
)
@pytest.mark.parametrize("is_reverse", [False])
def test_codes_that_do_not_fit(codes: tuple[int, ...], message: str, is_reverse: bool) -> None:
    with pytest.raises(QnnError, match=message):
        new_shape((2, 3, 4), codes, is_reverse=is_reverse)
