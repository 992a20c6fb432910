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
from qnn_ops.errors import QnnError

_Function = Callable[[relax.Expr, relax.Expr], relax.Expr]

# By the middle of MXNet's names, as in broadcast_add.
_FUNCTIONS: dict[str, _Function] = {
    "add": R.add,
    "div": R.divide,
    "equal": R.equal,
    "greater": R.greater,
    "greater_equal": R.greater_equal,
    "lesser": R.less,
    "lesser_equal": R.less_equal,
    "maximum": R.maximum,
    "minimum": R.minimum,
    "minus": R.subtract,
    "mul": R.multiply,
    "not_equal": R.not_equal,
    "plus": R.add,
    "power": R.power,
    "sub": R.subtract,
}
_COMPARISONS = {name for name in _FUNCTIONS if "equal" in name or name in ("greater", "lesser")}
# Those of a number and a tensor.
_REVERSED = ("div", "minus", "power")


def _names(name: str) -> list[str]:
    """The name as it is, and as it was before 1.0: _PlusScalar for _plus_scalar."""
    return [name, "_" + "".join(part.capitalize() for part in name.split("_"))]


def _register(name: str, function: _Function) -> None:
    @converter(f"elemwise_{name}", *_names(f"_{name}"))
    def of_same_shape(ctx: Context) -> relax.Expr:
        if ctx.shape(0) != ctx.shape(1):
            raise QnnError(
                f"both inputs must have one shape, got {ctx.shape(0)} and {ctx.shape(1)}"
            )
        return _result(ctx, name, function(ctx.expr(0), ctx.expr(1)))

    @converter(f"broadcast_{name}")
    def broadcast(ctx: Context) -> relax.Expr:
        try:
            np.broadcast_shapes(ctx.shape(0), ctx.shape(1))
        except ValueError:
            raise QnnError(
                f"the inputs must broadcast to one shape, got {ctx.shape(0)} and {ctx.shape(1)}"
            ) from None
        return _result(ctx, name, function(ctx.expr(0), ctx.expr(1)))

    @converter(*_names(f"_{name}_scalar"))
    def with_number(ctx: Context) -> relax.Expr:
        return _result(ctx, name, function(ctx.expr(0), _number(ctx)))

    if name in _REVERSED:

        @converter(f"_r{name}_scalar", f"_R{name.capitalize()}Scalar")
        def of_number(ctx: Context) -> relax.Expr:
            return function(_number(ctx), ctx.expr(0))


for _name, _function in _FUNCTIONS.items():
    _register(_name, _function)


def _result(ctx: Context, name: str, expr: relax.Expr) -> relax.Expr:
    # MXNet's truth values are 1 and 0 in the inputs' dtype.
    return R.astype(expr, ctx.dtype(0)) if name in _COMPARISONS else expr


def _number(ctx: Context) -> relax.Expr:
    value, dtype = ctx.attrs.real("scalar"), np.dtype(ctx.dtype(0))
    if dtype.kind != "f" and value != int(value):
        raise UnsupportedError(f"{dtype} tensors and {value} are not supported together")
    return relax.const(dtype.type(value), str(dtype))


@converter("add_n", "ElementWiseSum", "_sum")
def convert_add_n(ctx: Context) -> relax.Expr:
    """The sum of tensors of one shape."""
    shapes = {ctx.shape(position) for position in range(ctx.arity)}
    if len(shapes) != 1:
        raise QnnError(f"all inputs must have one shape, got {sorted(shapes)}")
    return reduce(R.add, ctx.exprs())


@converter("where")
def convert_where(ctx: Context) -> relax.Expr:
    """The second input where the first is not 0, else the third."""
    condition: Any = ctx.expr(0)
    shapes: Sequence[tuple[int, ...]] = [ctx.shape(position) for position in range(3)]
    if shapes[1] != shapes[2] or shapes[0] not in (shapes[1], shapes[1][:1]):
        raise QnnError(f"the inputs must have one shape, got {', '.join(map(str, shapes))}")
    zero = relax.const(np.zeros((), ctx.dtype(0)), ctx.dtype(0))
    if shapes[0] != shapes[1]:
        condition = R.reshape(condition, (*shapes[0], *[1] * (len(shapes[1]) - 1)))
    return R.where(R.not_equal(condition, zero), ctx.expr(1), ctx.expr(2))
