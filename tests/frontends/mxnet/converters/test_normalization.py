from __future__ import annotations

import numpy as np
import pytest

from qnn_ops.errors import QnnError
from tests.support.mxnet_float import check_family, convert


def test_what_mxnet_computes() -> None:
    # Sums in another order.
    check_family("normalization", {"": 1e-6})


def test_what_does_not_fit_is_named() -> None:
    ones = np.ones(3, np.float32)
    with pytest.raises(QnnError, match="L2Normalization 'made': the data must have more"):
        convert("L2Normalization", (3,))
    with pytest.raises(QnnError, match="L2Normalization 'made': the data must have more"):
        convert("L2Normalization", (2, 3), mode="spatial")
    with pytest.raises(QnnError, match="nsize be odd"):
        convert("LRN", (2, 3, 4, 4), nsize="4")
    with pytest.raises(QnnError, match="at least 3 dimensions"):
        convert("InstanceNorm", (2, 3), ones, ones)
    with pytest.raises(QnnError, match=r"'x1' must have shape \(4,\), got \(3,\)"):
        convert("LayerNorm", (2, 4), ones, ones)
