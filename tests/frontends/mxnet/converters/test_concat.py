"""Operators that join floats, repeat them or pad them."""

from __future__ import annotations

import pytest

from frontends.errors import UnsupportedOperatorError
from qnn_ops.errors import QnnError
from tests.support.mxnet_float import check_family, convert


def test_what_mxnet_computes() -> None:
    check_family("concat")


@pytest.mark.parametrize(
    ("op", "attrs", "message"),
    [
        ("Concat", {"dim": "0"}, "must have one shape except for axis 0"),
        ("Concat", {"num_args": "3"}, "num_args is 3, there are 2 inputs"),
        ("Concat", {"dim": "4"}, "axis 4 is outside"),
        ("stack", {}, "must have one shape"),
        ("tile", {"reps": "(0, 1)"}, "at least 1"),
        ("repeat", {"repeats": "0"}, "at least 1"),
        ("repeat", {"repeats": "2", "axis": "4"}, "axis 4 is outside"),
    ],
)
def test_attributes_that_do_not_fit_are_named(op: str, attrs: dict[str, str], message: str) -> None:
    with pytest.raises(QnnError, match=rf"{op} 'made': .*{message}"):
        convert(op, (2, 3, 4, 4), (2, 5, 4, 4), **attrs)


def test_up_sampling_that_weighs_or_joins_is_not_supported() -> None:
    for count, kind in ((1, "bilinear"), (2, "nearest")):
        with pytest.raises(UnsupportedOperatorError, match="only sample_type nearest"):
            convert("UpSampling", *[(1, 3, 4, 4)] * count, scale="2", sample_type=kind)
    with pytest.raises(QnnError, match="scale be at least 1"):
        convert("UpSampling", (1, 3, 4, 4), scale="0", sample_type="nearest")


def test_what_mxnet_computes_of_pad() -> None:
    check_family("pad")


@pytest.mark.parametrize(
    ("mode", "widths", "message"),
    [
        ("constant", "(0, 1)", "must be 4 numbers"),
        ("constant", "(0, 1, -1, 0)", "of at least 0"),
        ("reflect", "(0, 0, 3, 0)", "cannot reflect a pad_width"),
        ("wrap", "(0, 0, 3, 0)", "mode must be one of constant, edge, reflect"),
    ],
)
def test_attributes_that_do_not_fit_are_named_of_pad(mode: str, widths: str, message: str) -> None:
    with pytest.raises(QnnError, match=rf"Pad 'made': .*{message}"):
        convert("Pad", (2, 3), mode=mode, pad_width=widths)
