from __future__ import annotations

import numpy as np
import pytest

from frontends.errors import UnsupportedOperatorError
from qnn_ops.errors import QnnError
from tests.support.mxnet_float import check_family, convert


def test_what_mxnet_computes() -> None:
    check_family("embedding")


def test_what_does_not_fit_is_named() -> None:
    with pytest.raises(QnnError, match=r"weight must have shape \(5, 3\), got \(4, 3\)"):
        convert("Embedding", (2,), np.ones((4, 3), np.float32), input_dim="5", output_dim="3")
    with pytest.raises(QnnError, match="axis 2 is outside"):
        convert("take", (4, 3), (2,), axis="2")
    with pytest.raises(UnsupportedOperatorError, match="only mode clip"):
        convert("take", (4, 3), (2,), mode="wrap")
