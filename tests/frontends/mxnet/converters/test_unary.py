from __future__ import annotations

import pytest

from qnn_ops.errors import QnnError
from tests.support.mxnet_float import check_family, convert


def test_what_mxnet_computes() -> None:
    # Approximations of their own, in MXNet's library and in LLVM's.
    names = ("erf", "exp", "log", "rsqrt", "sigmoid", "tanh")
    check_family("unary", dict.fromkeys(names, 1e-6))


def test_bounds_must_be_there() -> None:
    with pytest.raises(QnnError, match="clip 'made': attribute a_max is missing"):
        convert("clip", (2, 3), a_min="0")
