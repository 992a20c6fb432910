from __future__ import annotations

import pytest

from frontends.errors import UnsupportedOperatorError
from qnn_ops.errors import QnnError
from tests.support.mxnet_float import check_family, convert


def test_what_mxnet_computes() -> None:
    # Approximated exponentials, and sums in another order.
    check_family("softmax", {"": 1e-6})


def test_what_does_not_fit_is_named() -> None:
    with pytest.raises(QnnError, match="softmax 'made': axis 2 is outside"):
        convert("softmax", (2, 3), axis="2")
    with pytest.raises(QnnError, match="temperature must be positive"):
        convert("softmax", (2, 3), temperature="0")
    with pytest.raises(UnsupportedOperatorError, match="use_length"):
        convert("softmax", (2, 3), (2,), use_length="True")
    with pytest.raises(UnsupportedOperatorError, match="only dtype float32"):
        convert("log_softmax", (2, 3), dtype="float16")
