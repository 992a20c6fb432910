"""Arithmetic of floats and integers by its old and new names."""

import pytest

from frontends.errors import UnsupportedOperatorError
from tests.support.mxnet_float import convert

SCALAR_NAMES = (
    *("Plus", "Minus", "Mul", "Power", "RPower", "RDiv", "Maximum", "Minimum", "Equal"),
    *("Not_Equal", "Greater", "Greater_Equal", "Lesser", "Lesser_Equal"),
)


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
        *((f"_{name.replace('_', '')}Scalar", f"_{name.lower()}_scalar") for name in SCALAR_NAMES),
    ],
)
def test_old_names_mean_the_same(old: str, new: str) -> None:
    texts = {convert(name, (2, 3), (2, 3), scalar="2")[0].script() for name in (old, new)}
    assert len(texts) == 1


def test_integers_take_whole_numbers_only() -> None:
    assert "int32" in convert("_mul_scalar", (2,), of="int32", scalar="2.0")[0].script()
    with pytest.raises(UnsupportedOperatorError, match=r"int32 tensors and 1\.5"):
        convert("_mul_scalar", (2,), of="int32", scalar="1.5")
