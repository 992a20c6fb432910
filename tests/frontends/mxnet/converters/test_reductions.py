"""Normalizations of floats: by statistics that were kept, or by the data's own."""

import numpy as np

from tests.support.mxnet_float import convert
from tvm_qnn import build


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
