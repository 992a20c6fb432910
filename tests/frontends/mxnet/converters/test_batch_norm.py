from __future__ import annotations

import numpy as np
import pytest

from frontends.errors import UnsupportedOperatorError
from qnn_ops.errors import QnnError
from tests.support.mxnet_float import check_family, convert

ONES = np.ones(3, np.float32)


def test_what_mxnet_computes() -> None:
    # The deviation is rounded in other places; a rounding of each result follows.
    check_family("batch_norm", {"": 1e-6})


def test_what_does_not_fit_is_named() -> None:
    with pytest.raises(QnnError, match=r"'x3' must have shape \(3,\), got \(4,\)"):
        convert("BatchNorm", (1, 3, 2, 2), ONES, ONES, np.ones(4, np.float32), ONES)
    with pytest.raises(QnnError, match="'x4' must not be negative"):
        convert("BatchNorm", (1, 3, 2, 2), ONES, ONES, ONES, -ONES)
    with pytest.raises(QnnError, match="'x1' must be constant"):
        convert("BatchNorm", (1, 3, 2, 2), (3,), ONES, ONES, ONES)
    with pytest.raises(QnnError, match="axis 4 is outside"):
        convert("BatchNorm", (1, 3, 2, 2), ONES, ONES, ONES, ONES, axis="4")
    with pytest.raises(UnsupportedOperatorError, match="training only"):
        convert("BatchNorm", (1, 3, 2, 2), ONES, ONES, ONES, ONES, output_mean_var="True")
