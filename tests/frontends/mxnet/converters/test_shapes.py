"""Operators that change the shape or the order of axes, and no value."""

from __future__ import annotations

import pytest

from frontends.mxnet.converters.shapes import new_shape
from qnn_ops.errors import QnnError
from tests.support.mxnet_float import check_family, convert


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


def test_what_mxnet_computes() -> None:
    check_family("shapes")


@pytest.mark.parametrize(
    ("op", "attrs", "message"),
    [
        ("Reshape", {"shape": "(4, 2)"}, "does not fit a tensor of shape"),
        ("Reshape", {}, "target_shape is missing"),
        ("transpose", {"axes": "(0, 0, 1)"}, "must name each of 3 axes once"),
        ("SwapAxis", {"dim1": "3"}, "axis 3 is outside"),
        ("expand_dims", {"axis": "5"}, "axis 5 is outside"),
        ("squeeze", {"axis": "1"}, "must name axes of size 1"),
        ("reshape_like", {"lhs_begin": "1"}, "only whole shapes"),
    ],
)
def test_attributes_that_do_not_fit_are_named(op: str, attrs: dict[str, str], message: str) -> None:
    with pytest.raises(QnnError, match=rf"{op} 'made': .*{message}"):
        convert(op, (2, 3, 4), (6, 4), **attrs)
