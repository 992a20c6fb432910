from __future__ import annotations

import pytest

from qnn_ops.errors import QnnError
from tests.support.mxnet_float import check_family, convert


def test_what_mxnet_computes() -> None:
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
def test_attributes_that_do_not_fit_are_named(mode: str, widths: str, message: str) -> None:
    with pytest.raises(QnnError, match=rf"Pad 'made': .*{message}"):
        convert("Pad", (2, 3), mode=mode, pad_width=widths)
