"""Expressions compute what numpy computes with arrays of the same values."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tvm import relax, tirx

from qnn_ops.arrays import Array
from qnn_ops.dialect.expressions import Expression, implement, take
from qnn_ops.dialect.sizes import OpenSizeError, Size
from tests.support.errors import fails
from tests.support.operators import run

BYTES = np.array([[-128, -1, 0], [1, 5, 127]], np.int8)
WORDS = np.array([[-(2**31), -7, 0], [1, 6, 2**31 - 1]], np.int32)
FLOATS = np.array([[-2.5, -0.5, 0.0], [0.5, 1.5, np.nan]], np.float32)


def computed(function: Callable[..., Any], *arrays: Array) -> Array:
    """Compile a function of expressions, and run it with arrays."""
    builder = relax.BlockBuilder()
    parameters = [
        relax.Var(f"x{place}", relax.TensorType(each.shape, str(each.dtype)))
        for place, each in enumerate(arrays)
    ]
    with builder.function("main", parameters):
        with builder.dataflow():
            result = function(*(Expression(builder, each) for each in parameters))
            output = builder.emit_output(result.expr)
        builder.emit_func_output(output)
    return run(builder.get(), arrays)


FUNCTIONS: dict[str, tuple[Callable[..., Any], Array]] = {
    "a number keeps the dtype": (lambda x: x + 1, BYTES),
    "a number on the left": (lambda x: 1 - x, BYTES),
    "an array widens": (lambda x: x * np.array([3, 5, 7], np.int64), WORDS),
    "a float32 makes int32 a float64": (lambda x: x * np.float32(0.1), WORDS),
    "a conversion": (lambda x: (x.astype(np.int16) - 300).astype("int32"), BYTES),
    "shifts": (lambda x: (x >> 3) + (x.astype(np.int64) << 2), WORDS),
    "bits": (lambda x: x & np.where(np.array([True, False, True]), -1, 0), BYTES),
    "both conditions": (lambda x: (x > -2) & (x <= 5), BYTES),
    "the larger and the smaller": (lambda x: np.maximum(np.minimum(x, 3), -3), WORDS),
    "bounds of integers": (lambda x: np.clip(x, -5, 5), WORDS),
    "bounds of floats": (lambda x: np.clip(np.where(x == x, x, 0), -1.0, 1.0), FLOATS),
    "the number beside NaN": (lambda x: np.fmin(x, np.float32(1)), FLOATS),
    "rounded": (lambda x: np.rint(x) + np.trunc(x) - np.abs(x) * np.sign(x), FLOATS),
    "a choice": (lambda x: np.where(x > 0, np.float32(1), -x / np.float32(3)), FLOATS),
    "a sum": (lambda x: x.sum(axis=(0, 1), dtype=np.int32, keepdims=True), BYTES),
    "ends of rows": (lambda x: x.max(-1, keepdims=True) - x.min(-1, keepdims=True), WORDS),
    "another shape": (lambda x: x.reshape(-1), BYTES),
    "columns": (lambda x: x[..., 1:3], BYTES),
    "rows": (lambda x: x[1:], WORDS),
    "parts of two axes": (lambda x: x[:-1, 1:], WORDS),
    "axes in another order": (lambda x: np.expand_dims(np.transpose(x), 1), WORDS),
    "an axis that repeats": (lambda x: np.broadcast_to(x[:, :1], x.shape), WORDS),
    "quotients and remainders": (lambda x: x // 7 - x % 7, WORDS),
    "either condition": (lambda x: (x < -2) | np.isnan(x), FLOATS),
    "finite numbers": (lambda x: np.where(np.isfinite(x), x, 0), FLOATS),
    "a product of matrices": (lambda x: x @ np.transpose(x), WORDS),
    "logarithms and powers": (lambda x: np.rint(np.log(np.power(np.abs(x), 2) + 1) * 8), FLOATS),
    "parts": (lambda x: np.concatenate([x, np.zeros_like(x), x], -1), BYTES),
    "a table": (lambda x: take(np.arange(256) ** 2, x.astype(np.int32) + 128), BYTES),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_an_expression_computes_as_an_array(name: str) -> None:
    function, values = FUNCTIONS[name]
    expected = function(values)
    actual = computed(function, values)
    assert actual.dtype == expected.dtype
    np.testing.assert_array_equal(actual, expected)


def test_two_expressions_have_one_dtype() -> None:
    expected = BYTES - WORDS
    actual = computed(lambda x, y: x - y, BYTES, WORDS)
    assert actual.dtype == expected.dtype == np.int32
    np.testing.assert_array_equal(actual, expected)


def test_an_open_size_is_no_number() -> None:
    size: Any = Size(tirx.Var("n", "int64"))
    for function in (lambda x: x + size, lambda x: np.where(x > 0, x, size)):
        with pytest.raises(OpenSizeError, match="the size n is open, where a number is needed"):
            computed(function, WORDS)


def test_a_function_of_this_project_is_what_implements_it() -> None:
    def halved(x: Any) -> Any:
        return x.apply(halved, x) if isinstance(x, Expression) else x / np.float32(2)

    implement(halved)(lambda x: x * np.float32(0.5))
    np.testing.assert_array_equal(computed(halved, FLOATS), halved(FLOATS))


def test_what_is_no_function_of_expressions_is_an_error() -> None:
    fails("arctan", computed, np.arctan, FLOATS, error=KeyError)
