from __future__ import annotations

import pytest

from frontends.errors import UnsupportedOperatorError
from tests.support.mxnet_float import check_family, convert


def test_what_mxnet_computes() -> None:
    # oneDNN has a polynomial of its own for the exponential, TVM another.
    check_family("identity", {"logistic": 1e-6})


def test_nothing_is_emitted() -> None:
    mod, _ = convert("Dropout", (2, 3))
    assert "R.call" not in mod.script()
    assert len(mod["main"].body.blocks[0].bindings) <= 1


def test_dropping_always_is_not_supported() -> None:
    with pytest.raises(UnsupportedOperatorError, match="mode always draws"):
        convert("Dropout", (2, 3), mode="always")
