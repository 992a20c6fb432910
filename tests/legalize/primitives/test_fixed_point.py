from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tvm import relax

from legalize.kernels.conv2d.calls import saturate
from qnn_ops.arithmetic import fixed_point as arithmetic
from qnn_ops.arithmetic import rounding
from qnn_ops.arithmetic.rounding import ROUNDINGS
from qnn_ops.arrays import Array
from qnn_ops.dialect.expressions import Expression
from tests.support.modules import module
from tests.support.operators import run

INT32 = np.iinfo(np.int32)
EDGES = [INT32.min, INT32.min + 1, -(2**30), -3, -2, -1, 0, 1, 2, 3, 2**30 - 1, 2**30, INT32.max]


def computed(
    build: Callable[[Expression], Expression], values: Array, target: Any = "llvm"
) -> Array:
    """Evaluate an expression of one variable for ``values``."""

    def body(x: relax.Expr) -> relax.Expr:
        return build(Expression(relax.BlockBuilder.current(), x)).expr

    return run(module({"x": values}, body), [values], target)


def accumulators(seed: int) -> Array:
    """Return a row of edges, and one of values of every magnitude."""
    rng = np.random.default_rng(seed)
    magnitudes = np.exp2(rng.uniform(0, 31, 1000 - len(EDGES))) * rng.choice([-1, 1], 987)
    return np.concatenate([np.array(EDGES), magnitudes.astype(np.int64)]).astype(np.int32)


def every_shift(lowest: int, highest: int) -> tuple[Array, Array]:
    """Return a row for each shift, with multipliers from 2^30 to 2^31 - 1 and some zeros."""
    rng = np.random.default_rng(1)
    shift = np.arange(lowest, highest + 1, dtype=np.int32).reshape(-1, 1)
    multiplier = rng.integers(2**30, 2**31, shift.shape, dtype=np.int32)
    multiplier[:3] = np.array([[2**30], [INT32.max], [0]])
    return multiplier, shift


def _once(x: Any, multiplier: Array, shift: Any) -> Any:
    return arithmetic.scaled_once(x, multiplier, shift, 31)


_TWICE = arithmetic.scaled_twice, arithmetic.multiply_by_quantized_multiplier
_FEW = np.arange(-(2**10), 2**10, dtype=np.int32)
# Left shifts of two roundings wrap in int32, as they do in numpy's version; that of one is exact
# where int32 holds it.
SCALINGS: dict[str, tuple[Any, Any, Array, Array, Any]] = {
    "twice, every shift": (*_TWICE, accumulators(2), *every_shift(-31, 31)),
    "once, every shift": (_once, _once, accumulators(4), *every_shift(-31, 0)),
    "once, to the left": (_once, _once, _FEW, *every_shift(0, 19)),
    **{
        f"twice, by {shift}": (*_TWICE, accumulators(3), np.array(1518500250), shift)
        for shift in (-31, -9, -1, 0, 1, 5)
    },
}


@pytest.mark.parametrize("name", SCALINGS)
def test_scaling_equals_numpy(name: str) -> None:
    compiled, in_numpy, values, multiplier, shift = SCALINGS[name]
    actual = computed(lambda x: compiled(x, multiplier, shift), values)
    np.testing.assert_array_equal(actual, in_numpy(values, multiplier, shift))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_rounding_half_away_equals_numpy(dtype: str) -> None:
    rng = np.random.default_rng(5)
    halves = np.arange(-300, 300) / 2
    one = np.ones(600, dtype)
    large = np.exp2(rng.uniform(0, 60, 600)) * rng.choice([-1, 1], 600)
    values = np.concatenate(
        [
            halves.astype(dtype),
            np.nextafter(halves.astype(dtype), one * 1000),
            np.nextafter(halves.astype(dtype), one * -1000),
            large.astype(dtype),
            np.array([0.0, -0.0, np.inf, -np.inf, 2.0**23 - 0.5, 2.0**23 + 1], dtype),
        ]
    )
    actual = computed(arithmetic.round_half_away, values)
    assert actual.dtype == dtype
    np.testing.assert_array_equal(actual, arithmetic.round_half_away(values))


def test_saturate_clamps_and_casts() -> None:
    values = np.array([-(2**40), -130, -129, -128, 0, 99, 100, 101, 2**40])
    actual = computed(lambda x: x.to(saturate(x.expr, (-128, 100), "int8")), values)
    expected = np.array([-128, -128, -128, -128, 0, 99, 100, 100, 100], np.int8)
    np.testing.assert_array_equal(actual, expected)
    assert actual.dtype == np.int8


@pytest.mark.parametrize("rounding_name", ROUNDINGS)
@pytest.mark.parametrize("out_dtype", ["int8", "int32"])
def test_scale_down_equals_numpy(rounding_name: str, out_dtype: str) -> None:
    rng = np.random.default_rng(6)
    # Powers of two make ties frequent.
    exponents = np.concatenate([np.arange(-30, 0), rng.uniform(-30, 0, 30)])
    multiplier = np.exp2(exponents).reshape(-1, 1)
    info = np.iinfo(out_dtype)
    zero_point, bounds = 17, (int(info.min) + 5, int(info.max) - 5)
    values = accumulators(7)
    actual = computed(
        lambda x: rounding.scale_down(x, multiplier, rounding_name, zero_point, bounds, out_dtype),
        values,
    )
    expected = rounding.scale_down(values, multiplier, rounding_name, zero_point, bounds, out_dtype)
    assert actual.dtype == expected.dtype
    np.testing.assert_array_equal(actual, expected)


@pytest.mark.parametrize("rounding_name", ["float32", "float64"])
def test_float_products_beyond_int32_saturate(rounding_name: str) -> None:
    values = np.array(EDGES, np.int32)
    bounds = (-(2**31), 2**31 - 1)
    actual = computed(
        lambda x: rounding.scale_down(x, 1e30, rounding_name, 0, bounds, "int32"), values
    )
    expected = rounding.scale_down(values, np.array(1e30), rounding_name, 0, bounds, "int32")
    np.testing.assert_array_equal(actual, expected)
