from __future__ import annotations

import pytest

from frontends.errors import UnsupportedOperatorError
from qnn_ops.errors import QnnError
from tests.support.mxnet_float import check_family, convert


def test_what_mxnet_computes() -> None:
    # Approximations of their own, in MXNet's library and in LLVM's.
    check_family("arithmetic", {"power": 1e-6, "broadcast_power": 1e-6, "rpower": 1e-6})
    check_family("comparisons")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("_Plus", "elemwise_add"),
        ("_minus", "elemwise_sub"),
        ("_Greater_Equal", "_greater_equal"),
        ("broadcast_plus", "broadcast_add"),
        ("_RMinusScalar", "_rminus_scalar"),
        ("_DivScalar", "_div_scalar"),
        ("ElementWiseSum", "add_n"),
    ],
)
def test_old_names_mean_the_same(old: str, new: str) -> None:
    texts = {convert(name, (2, 3), (2, 3), scalar="2")[0].script() for name in (old, new)}
    assert len(texts) == 1


def test_what_does_not_fit_is_named() -> None:
    with pytest.raises(QnnError, match="elemwise_add 'made': both inputs must have one shape"):
        convert("elemwise_add", (2, 3), (1, 3))
    with pytest.raises(QnnError, match="broadcast_add 'made': the inputs must broadcast"):
        convert("broadcast_add", (2, 3), (2, 2))
    with pytest.raises(QnnError, match="add_n 'made': all inputs must have one shape"):
        convert("add_n", (2, 3), (2, 2))
    with pytest.raises(QnnError, match="where 'made': the inputs must have one shape"):
        convert("where", (3,), (2, 3), (2, 3))
    with pytest.raises(QnnError, match="scalar is missing"):
        convert("_plus_scalar", (2, 3))


def test_integers_take_whole_numbers_only() -> None:
    assert "int32" in convert("_mul_scalar", (2,), of="int32", scalar="2.0")[0].script()
    with pytest.raises(UnsupportedOperatorError, match=r"int32 tensors and 1\.5"):
        convert("_mul_scalar", (2,), of="int32", scalar="1.5")
