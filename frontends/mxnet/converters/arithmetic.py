"""Arithmetic and comparisons of two tensors, or of a tensor and a number."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

import numpy as np
from tvm import relax
from tvm.relax import op as R

from frontends.errors import UnsupportedError
from frontends.mxnet.converters.context import Context
from frontends.mxnet.converters.registry import converter
from qnn_ops.comparisons import unequal
from qnn_ops.errors import QnnError

_Function = Callable[[relax.Expr, relax.Expr], relax.Expr]

# MXNet's names of a function: for two tensors of one shape, for two that broadcast, for a tensor
# and a number, and for a number and a tensor. The old names are from before 1.0.
_SAME_SHAPE: dict[_Function, tuple[str, ...]] = {
    R.add: ("elemwise_add", "_add", "_plus", "_Plus"),
    R.subtract: ("elemwise_sub", "_sub", "_minus", "_Minus"),
    R.multiply: ("elemwise_mul", "_mul", "_Mul"),
    R.divide: ("elemwise_div", "_div", "_Div"),
    R.power: ("_power", "_Power"),
    R.maximum: ("_maximum", "_Maximum"),
    R.minimum: ("_minimum", "_Minimum"),
    R.equal: ("_equal", "_Equal"),
    unequal: ("_not_equal", "_Not_Equal"),
    R.greater: ("_greater", "_Greater"),
    R.greater_equal: ("_greater_equal", "_Greater_Equal"),
    R.less: ("_lesser", "_Lesser"),
    R.less_equal: ("_lesser_equal", "_Lesser_Equal"),
}
_BROADCAST: dict[_Function, tuple[str, ...]] = {
    R.add: ("broadcast_add", "broadcast_plus"),
    R.subtract: ("broadcast_sub", "broadcast_minus"),
    R.multiply: ("broadcast_mul",),
    R.divide: ("broadcast_div",),
    R.power: ("broadcast_power",),
    R.maximum: ("broadcast_maximum",),
    R.minimum: ("broadcast_minimum",),
    R.equal: ("broadcast_equal",),
    unequal: ("broadcast_not_equal",),
    R.greater: ("broadcast_greater",),
    R.greater_equal: ("broadcast_greater_equal",),
    R.less: ("broadcast_lesser",),
    R.less_equal: ("broadcast_lesser_equal",),
}
_NUMBER: dict[_Function, tuple[str, ...]] = {
    R.add: ("_plus_scalar", "_PlusScalar"),
    R.subtract: ("_minus_scalar", "_MinusScalar"),
    R.multiply: ("_mul_scalar", "_MulScalar"),
    R.divide: ("_div_scalar", "_DivScalar"),
    R.power: ("_power_scalar", "_PowerScalar"),
    R.maximum: ("_maximum_scalar", "_MaximumScalar"),
    R.minimum: ("_minimum_scalar", "_MinimumScalar"),
    R.equal: ("_equal_scalar", "_EqualScalar"),
    unequal: ("_not_equal_scalar", "_NotEqualScalar"),
    R.greater: ("_greater_scalar", "_GreaterScalar"),
    R.greater_equal: ("_greater_equal_scalar", "_GreaterEqualScalar"),
    R.less: ("_lesser_scalar", "_LesserScalar"),
    R.less_equal: ("_lesser_equal_scalar", "_LesserEqualScalar"),
}
_OF_NUMBER: dict[_Function, tuple[str, ...]] = {
    R.subtract: ("_rminus_scalar", "_RMinusScalar"),
    R.divide: ("_rdiv_scalar", "_RDivScalar"),
    R.power: ("_rpower_scalar", "_RPowerScalar"),
}
_COMPARISONS = (R.equal, unequal, R.greater, R.greater_equal, R.less, R.less_equal)


def _register(
    names: dict[_Function, tuple[str, ...]],
    operands: Callable[[Context], tuple[relax.Expr, relax.Expr]],
) -> None:
    def register(function: _Function) -> None:
        @converter(*names[function])
        def convert(ctx: Context) -> relax.Expr:
            result = function(*operands(ctx))
            # MXNet's truth values are 1 and 0 in the inputs' dtype.
            return R.astype(result, ctx.dtype(0)) if function in _COMPARISONS else result

    for function in names:
        register(function)


def _of_same_shape(ctx: Context) -> tuple[relax.Expr, relax.Expr]:
    if ctx.shape(0) != ctx.shape(1):
        raise QnnError(f"both inputs must have one shape, got {ctx.shape(0)} and {ctx.shape(1)}")
    return ctx.expr(0), ctx.expr(1)


def _broadcast(ctx: Context) -> tuple[relax.Expr, relax.Expr]:
    try:
        np.broadcast_shapes(ctx.shape(0), ctx.shape(1))
    except ValueError:
        raise QnnError(
            f"the inputs must broadcast to one shape, got {ctx.shape(0)} and {ctx.shape(1)}"
        ) from None
    return ctx.expr(0), ctx.expr(1)


def _number(ctx: Context) -> relax.Expr:
    value, dtype = ctx.attrs.real("scalar"), np.dtype(ctx.dtype(0))
    if dtype.kind != "f" and value != int(value):
        raise UnsupportedError(f"{dtype} tensors and {value} are not supported together")
    return relax.const(dtype.type(value), str(dtype))


_register(_SAME_SHAPE, _of_same_shape)
_register(_BROADCAST, _broadcast)
_register(_NUMBER, lambda ctx: (ctx.expr(0), _number(ctx)))
_register(_OF_NUMBER, lambda ctx: (_number(ctx), ctx.expr(0)))


@converter("add_n", "ElementWiseSum")
def convert_add_n(ctx: Context) -> relax.Expr:
    """Return the sum of tensors of one shape."""
    shapes = {ctx.shape(position) for position in range(ctx.arity)}
    if len(shapes) != 1:
        raise QnnError(f"all inputs must have one shape, got {sorted(shapes)}")
    return reduce(R.add, ctx.exprs())


@converter("where")
def convert_where(ctx: Context) -> relax.Expr:
    """Return the second input where the first is not 0, else the third."""
    condition: Any = ctx.expr(0)
    shapes: Sequence[tuple[int, ...]] = [ctx.shape(position) for position in range(3)]
    if shapes[1] != shapes[2] or shapes[0] not in (shapes[1], shapes[1][:1]):
        raise QnnError(f"the inputs must have one shape, got {', '.join(map(str, shapes))}")
    zero = relax.const(np.zeros((), ctx.dtype(0)), ctx.dtype(0))
    if shapes[0] != shapes[1]:
        condition = R.reshape(condition, (*shapes[0], *[1] * (len(shapes[1]) - 1)))
    return R.where(unequal(condition, zero), ctx.expr(1), ctx.expr(2))
