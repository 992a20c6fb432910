from __future__ import annotations

import pytest

from frontends.errors import UnsupportedOperatorError
from qnn_ops.errors import QnnError
from tests.support.mxnet_float import check_family, convert


def test_what_mxnet_computes() -> None:
    check_family("cast")


def test_what_does_not_fit_is_named() -> None:
    with pytest.raises(UnsupportedOperatorError, match="dtype bfloat16 is not supported"):
        convert("Cast", (2, 3), dtype="bfloat16")
    with pytest.raises(UnsupportedOperatorError, match=r"shape \[0, 3\] is not known"):
        convert("_zeros", shape="(0, 3)")
    with pytest.raises(QnnError, match="step must not be 0"):
        convert("_arange", start="1", step="0")
