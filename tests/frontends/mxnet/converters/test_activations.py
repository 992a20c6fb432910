"""Activations, softmax and other functions of floats."""

from __future__ import annotations

import numpy as np
import pytest

from frontends.errors import UnsupportedOperatorError
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


def test_what_mxnet_computes_of_unary() -> None:
    # Approximations of their own, in MXNet's library and in LLVM's.
    names = ("erf", "exp", "log", "rsqrt", "sigmoid", "tanh")
    check_family("unary", dict.fromkeys(names, 1e-6))


def test_bounds_must_be_there() -> None:
    with pytest.raises(QnnError, match="clip 'made': attribute a_max is missing"):
        convert("clip", (2, 3), a_min="0")


def test_what_mxnet_computes_of_softmax() -> None:
    # Approximated exponentials, and sums in another order.
    check_family("softmax", {"": 1e-6})


def test_what_does_not_fit_is_named_of_softmax() -> None:
    with pytest.raises(QnnError, match="softmax 'made': axis 2 is outside"):
        convert("softmax", (2, 3), axis="2")
    with pytest.raises(QnnError, match="temperature must be positive"):
        convert("softmax", (2, 3), temperature="0")
    with pytest.raises(UnsupportedOperatorError, match="use_length"):
        convert("softmax", (2, 3), (2,), use_length="True")
    with pytest.raises(UnsupportedOperatorError, match="only dtype float32"):
        convert("log_softmax", (2, 3), dtype="float16")
