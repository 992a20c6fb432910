"""Normalizations of floats: by statistics that were kept, or by the data's own."""

from __future__ import annotations

import numpy as np
import pytest

from frontends.errors import UnsupportedOperatorError
from qnn_ops.errors import QnnError
from tests.support.mxnet_float import check_family, convert
from tvm_qnn import build

ONES = np.ones(3, np.float32)


def test_what_mxnet_computes() -> None:
    # The deviation is rounded in other places; a rounding of each result follows.
    check_family("batch_norm", {"": 1e-6})


def test_product_and_sum_round_apart_on_processors_that_could_round_once() -> None:
    rng = np.random.default_rng(0)
    data = rng.normal(size=(1, 3, 30, 30)).astype(np.float32)
    gamma, beta, mean = rng.normal(size=(3, 3)).astype(np.float32)
    variance = np.ones(3, np.float32)
    attributes = {"fix_gamma": "False", "eps": "0"}
    mod, params = convert("BatchNorm", data.shape, gamma, beta, mean, variance, **attributes)
    around = (3, 1, 1)
    product = (data - mean.reshape(around)) * gamma.reshape(around)
    result = build(mod, "host", params).run(data)
    np.testing.assert_array_equal(result, product + beta.reshape(around))


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


def test_what_mxnet_computes_of_normalization() -> None:
    # Sums in another order.
    check_family("normalization", {"": 1e-6})


def test_what_does_not_fit_is_named_of_normalization() -> None:
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
