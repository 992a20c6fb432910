"""Values of calls in numpy, against compiled code."""

import numpy as np
import pytest
import tvm
from tvm import relax
from tvm.relax import op as R

from frontends.known import KnownBuilder
from qnn_ops.dialect.known_values import _ELEMENTWISE, _OF_INTEGERS, _OTHERS
from tests.support.errors import fails
from tests.support.modules import module

A = np.array([[-7, 3, 2147483647], [0, -1, 5]], np.int32)
B = np.array([[2, -3, 1], [4, 7, -5]], np.int32)
SMALL = np.array([1, 3, 2], np.int32)
REAL = np.array([-2.5, -0.5, -0.0, 0.0, 1.5, np.inf, -np.inf, np.nan], np.float32)
FLAGS = A > 0


def calls() -> dict[str, list[relax.Expr]]:
    """A call of every function, or several."""
    a, b, small, real = (relax.const(each) for each in (A, B, SMALL, REAL))
    flags = relax.const(FLAGS), relax.const(B > 0)
    both = {name: [getattr(R, name)(a, b)] for name in _ELEMENTWISE if name in _OF_TWO}
    shifts = {name: [getattr(R, name)(a, small)] for name in ("left_shift", "right_shift")}
    logical = {name: [getattr(R, name)(*flags)] for name in ("logical_and", "logical_or")}
    ones = {name: [getattr(R, name)(real)] for name in _OF_ONE if name != "sign"}
    ones |= {"sign": [R.sign(a)], "logical_not": [R.logical_not(flags[0])]}
    reduced = {
        name: [getattr(R, name)(b, [1], True), getattr(R, name)(b, [0, 1])]
        for name in ("max", "min", "prod", "sum")
    }
    return {
        **both,
        **shifts,
        **logical,
        **ones,
        **reduced,
        "arange": [R.arange(2, 11, 4, "int32"), R.arange(5, -3, -2, "int64")],
        "astype": [R.astype(a, "int8"), R.astype(a, "float32"), R.astype(a, "bool")],
        "broadcast_to": [R.broadcast_to(small, (2, 3))],
        "clip": [R.clip(a, -2, 4), R.clip(real, -1.0, 1.0)],
        "concat": [R.concat([a, b], 0), R.concat([a, b], -1)],
        "cumsum": [R.cumsum(a, 1), R.cumsum(a, exclusive=True), R.cumsum(b, 0, "int64", True)],
        "divide": [R.divide(real, relax.const(np.float32(3)))],
        "expand_dims": [R.expand_dims(a, [0, 3])],
        "flip": [R.flip(a, 1)],
        "full": [R.full((2, 2), relax.const(np.int32(7)), "int32")],
        "permute_dims": [R.permute_dims(a), R.permute_dims(a, [1, 0])],
        "reshape": [R.reshape(a, (3, 2))],
        "shape_to_tensor": [R.shape_to_tensor(relax.ShapeExpr([2, 3]))],
        "split": [relax.TupleGetItem(R.split(a, each, 1), 1) for each in (3, [1, 2])],
        "strided_slice": [
            R.strided_slice(a, [1], [0], [2]),
            R.strided_slice(a, [0, 1], [1, 2], [-3, -4], [-1, -2]),
        ],
        "take": [R.take(a, small, 1, "clip"), R.take(a, relax.const(np.int32(-4)), 0, "clip")],
        "tile": [R.tile(a, [2, 1, 2])],
        "where": [R.where(flags[0], a, small)],
        "zeros": [R.zeros((2, 3), "int64")],
    }


_OF_TWO = (
    *("add", "bitwise_and", "equal", "floor_divide", "floor_mod", "greater", "greater_equal"),
    *("less", "less_equal", "maximum", "minimum", "multiply", "not_equal", "subtract"),
)
_OF_ONE = ("abs", "ceil", "floor", "isnan", "negative", "round", "sign")


def real_calls() -> dict[str, relax.Expr]:
    """A call of every elementwise function of floats, for all pairs of numbers."""
    data, other = (relax.const(each.ravel()) for each in np.meshgrid(REAL, REAL))
    return {
        "clip": R.clip(data, -1.0, 0.0),
        "where": R.where(R.less(data, other), data, other),
        **{name: getattr(R, name)(data) for name in _OF_ONE},
        **{
            name: getattr(R, name)(data, other)
            for name in (*_OF_TWO, "divide")
            if name != "bitwise_and"
        },
    }


def test_values_are_those_of_compiled_code() -> None:
    made = calls()
    assert {*made} == {*_ELEMENTWISE, *_OTHERS}
    check([each for some in made.values() for each in some])


def test_values_of_floats_are_those_of_compiled_code() -> None:
    made = real_calls()
    assert {*_ELEMENTWISE} - {*made} == {
        *("bitwise_and", "left_shift", "logical_and", "logical_not", "logical_or", "right_shift")
    }
    check([expr for name, expr in made.items() if name not in _OF_INTEGERS])


@pytest.mark.parametrize("name", _OF_INTEGERS)
def test_what_compiled_code_computes_otherwise_is_left_to_it(name: str) -> None:
    fails(f"{name} of floats may have another value", KnownBuilder().emit, real_calls()[name])


def check(exprs: list[relax.Expr]) -> None:
    machine = relax.VirtualMachine(tvm.compile(module({}, lambda: exprs), "llvm"), tvm.cpu())
    for expr, expected in zip(exprs, machine["main"](), strict=True):
        builder = KnownBuilder()
        with np.errstate(all="ignore"):
            found = builder.value_of(builder.emit(expr))
        assert found.dtype == expected.numpy().dtype, expr
        np.testing.assert_array_equal(found, expected.numpy(), str(expr))
        if found.dtype.kind == "f":
            ours, theirs = (
                np.signbit(each[~np.isnan(found)]) for each in (found, expected.numpy())
            )
            np.testing.assert_array_equal(ours, theirs, str(expr))
