"""Changes of dtype, constants, and operators that return their input outside of training."""

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


def test_what_mxnet_computes_of_identity() -> None:
    # oneDNN has a polynomial of its own for the exponential, TVM another.
    check_family("identity", {"logistic": 1e-6})


def test_nothing_is_emitted() -> None:
    mod, _ = convert("Dropout", (2, 3))
    assert "R.call" not in mod.script()
    assert len(mod["main"].body.blocks[0].bindings) <= 1


def test_dropping_always_is_not_supported() -> None:
    with pytest.raises(UnsupportedOperatorError, match="mode always draws"):
        convert("Dropout", (2, 3), mode="always")
