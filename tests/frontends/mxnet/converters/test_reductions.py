from __future__ import annotations

import pytest

from qnn_ops.errors import QnnError
from tests.support.mxnet_float import check_family, convert


def test_what_mxnet_computes() -> None:
    # Sums in another order. Extremes, and where they are, are exact.
    check_family("reductions", {"mean": 1e-6, "sum": 1e-6, "prod": 1e-6})


def test_axes_that_do_not_fit_are_named() -> None:
    with pytest.raises(QnnError, match="mean 'made': axis 3 is outside"):
        convert("mean", (2, 3), axis="(0, 3)")
    with pytest.raises(QnnError, match="names an axis twice"):
        convert("sum", (2, 3), axis="(1, -1)")
    with pytest.raises(QnnError, match="argmax 'made': axis 2 is outside"):
        convert("argmax", (2, 3), axis="2")
