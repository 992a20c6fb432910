from __future__ import annotations

import numpy as np
import pytest

from qnn_ops.errors import QnnError
from tests.support.mxnet_float import check_family, convert


def test_what_mxnet_computes() -> None:
    # oneDNN has polynomials of its own for these, TVM others.
    names = ("sigmoid", "softrelu", "tanh", "elu", "selu", "gelu")
    check_family("activation", dict.fromkeys(names, 1e-6))


def test_what_does_not_fit_is_named() -> None:
    with pytest.raises(QnnError, match="Activation 'made': attribute act_type must be one of relu"):
        convert("Activation", (2, 3), act_type="gelu")
    with pytest.raises(QnnError, match="attribute act_type is missing"):
        convert("Activation", (2, 3))
    with pytest.raises(QnnError, match="attribute act_type must be one of elu"):
        convert("LeakyReLU", (2, 3), act_type="relu")
    with pytest.raises(QnnError, match=r"gamma must have shape \(1,\) or \(3,\), got \(2,\)"):
        convert("LeakyReLU", (2, 3), np.ones(2, np.float32), act_type="prelu")
