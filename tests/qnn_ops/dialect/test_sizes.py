from math import prod
from typing import Any

import pytest
from tvm import relax, tirx
from tvm.relax import op as R

from qnn_ops.dialect.sizes import (
    OpenSizeError,
    Size,
    as_extent,
    broadcast,
    is_open,
    least,
    sizes_of,
    within,
)
from qnn_ops.errors import QnnError
from tests.support.errors import fails


def size(name: str) -> Any:
    return Size(tirx.Var(name, "int64"))


N, M = size("n"), size("m")


def test_sizes_compute_as_integers_do() -> None:
    assert N * 2 + N == 3 * N
    assert N * 3 // 3 == N
    assert (N * 8) % 8 == 0
    assert 5 - (N - N) == 5
    assert prod((N, 3, 4)) == N * 12
    assert (N * 4, 8) == (4 * N, 8)
    assert {N * 2: "twice"}[N * 2] == "twice"
    assert N != M
    assert N != 1
    assert str(3 - N * 2) == "3 - n * 2"
    assert abs(N) == abs(-N) == N


def test_orders_are_proven_or_errors() -> None:
    assert N >= 1
    assert N + 1 > N
    assert not N < 1
    assert N <= N * 2
    with pytest.raises(
        OpenSizeError, match="size n is open, where it must be known whether it is < 4"
    ):
        assert N < 4
    fails("the size n is open, where a number is needed", range, N, error=OpenSizeError)


def test_shapes_of_tvm_are_sizes_and_back() -> None:
    x = relax.Var("x", relax.TensorType((N, 4), "int8"))
    assert sizes_of(x.ty.shape.values) == (N, 4)
    builder = relax.BlockBuilder()
    flat = builder.normalize(R.reshape(x, (N * 4,)))
    assert sizes_of(flat.ty.shape.values) == (N * 4,)
    assert [is_open(shape) for shape in ((3, N), (3, 4))] == [True, False]
    assert (as_extent(3), as_extent(N).same_as(N.expr)) == (3, True)
    assert (least(N * M * 3 + 2), least(7)) == (5, 7)


def test_shapes_broadcast_where_that_is_certain() -> None:
    assert broadcast((N, 1, 3), (1, M, 3), (3,)) == (N, M, 3)
    assert broadcast((2, 1), (5,)) == (2, 5)
    assert broadcast((-1, 0), (1, 1)) == (-1, 0)
    for other in ((M, 3), (2, 3)):
        fails("broadcast", broadcast, (N, 3), other, error=ValueError)


def test_a_number_that_no_size_gives_is_the_dialects_error() -> None:
    assert issubclass(OpenSizeError, QnnError)


def test_bounds_prove_more_orders() -> None:
    with within({"n": (2, 512)}):
        assert N <= 512
        assert N >= 2
        with pytest.raises(OpenSizeError, match="whether it is < 100"):
            assert N < 100
    with pytest.raises(OpenSizeError, match="whether it is <= 512"):
        assert N <= 512
