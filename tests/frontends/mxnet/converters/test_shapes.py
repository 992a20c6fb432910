from __future__ import annotations

import pytest

from qnn_ops.errors import QnnError
from tests.support.mxnet_float import check_family, convert


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
