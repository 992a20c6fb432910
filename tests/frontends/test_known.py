"""Expressions that are computed at import, from numbers and open sizes."""

from typing import Any

import numpy as np
from tvm import relax, tirx
from tvm.relax import op as R

from frontends.known import MOST, KnownBuilder
from frontends.ranges import of_sizes
from qnn_ops import scatter_rows
from qnn_ops.dialect.sizes import OpenSizeError, Size
from tests.support.errors import fails

N: Any = Size(tirx.Var("n", "int64"))
TWO = relax.const(2, "int64")


def value(make: Any, *sizes: Any) -> list[Any]:
    """Compute an expression of some sizes."""
    builder = KnownBuilder()
    given = builder.emit(of_sizes(builder, np.array(sizes, object)))
    result = builder.value_of(builder.emit(make(given)))
    assert (result.dtype == object) == any(isinstance(each, Size) for each in result.ravel())
    return list(result.ravel().tolist())


def test_sizes_stay_open_until_numbers_remain() -> None:
    assert value(lambda sizes: R.add(R.multiply(sizes, TWO), sizes), N, 3) == [N * 3, 9]
    assert value(lambda sizes: R.subtract(sizes, R.flip(sizes, 0)), N, N) == [0, 0]
    assert value(lambda sizes: R.greater(sizes, relax.const(0, "int64")), N, 0) == [True, False]
    assert value(lambda sizes: R.equal(sizes, R.flip(sizes, 0)), N, N + 1) == [False, False]
    assert value(lambda sizes: R.prod(R.astype(sizes, "int32"), [0]), N, 2, 3) == [N * 6]


def test_extremes_and_quotients_of_sizes_are_sizes() -> None:
    one = relax.const(1, "int64")
    assert value(lambda sizes: R.maximum(sizes, one), N, 0) == [N, 1]
    assert value(lambda sizes: R.minimum(R.flip(sizes, 0), sizes), N, N + 1) == [N, N]
    assert value(lambda sizes: R.abs(R.negative(sizes)), N, -3) == [N, 3]
    fails("the size n is open", value, lambda sizes: R.maximum(sizes, TWO), N, error=OpenSizeError)


def test_rows_of_sizes_are_multiplied() -> None:
    def product(sizes: relax.Expr) -> relax.Expr:
        ones, places = relax.const(np.ones((1, 1)), "int64"), relax.const(np.zeros(2), "int32")
        return scatter_rows(ones, places, R.reshape(sizes, (2, 1)), "multiply")

    assert value(product, N, 4) == [N * 4]


def test_what_depends_on_a_run_is_not_computed() -> None:
    fails("the size n is open", value, lambda sizes: R.equal(sizes, TWO), N, error=OpenSizeError)
    fails("an open size becomes no integer", value, lambda sizes: R.astype(sizes, "float32"), N)
    unknown = relax.Var("data", relax.TensorType((2,), "int64"))
    fails("data is not known", value, lambda sizes: R.add(sizes, unknown), 1, 2)


def test_large_values_and_other_functions_are_data() -> None:
    fails("a result of shape", value, lambda sizes: R.broadcast_to(sizes, (2 * MOST + 1, 1)), 1)
    fails("exp is not computed", value, lambda sizes: R.exp(R.astype(sizes, "float32")), 1)
    rows = relax.const(np.ones((1, 1), np.float32))
    for reduction, is_known in (("update", True), ("add", False), ("multiply", False)):
        put = scatter_rows(rows, relax.const(np.zeros(1), "int32"), rows, reduction)
        if is_known:
            assert value(lambda _, put=put: put) == [1.0]
            continue
        fails("scatter_rows may round in another way", value, lambda _, put=put: put)
    fails("the order of floats", value, lambda sizes: R.sum(R.astype(sizes, "float32"), [0]), 1, 2)
