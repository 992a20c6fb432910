"""Reductions: the largest and smallest of quantized tensors, and all kinds of float32 ones."""

from __future__ import annotations

from collections.abc import Callable

from tvm import relax
from tvm.relax import op as R

from frontends.errors import UnsupportedError
from frontends.tflite.converters.context import Context, axis_of
from frontends.tflite.converters.quantization import check_same_quantization
from frontends.tflite.converters.registry import converter, float_converter
from frontends.tflite.options import ReducerOptions

_REDUCTIONS: dict[str, Callable[..., relax.Expr]] = {
    "MEAN": R.mean,
    "REDUCE_MAX": R.max,
    "REDUCE_MIN": R.min,
    "REDUCE_PROD": R.prod,
    "SUM": R.sum,
}


def axes_of(ctx: Context) -> list[int]:
    """The axes that a reduction's second input names, each once and counted from the front."""
    rank = len(ctx.input(0).shape)
    if not ctx.integers(1):
        raise UnsupportedError("a reduction along no axis")
    return sorted({axis_of(axis, rank) for axis in ctx.integers(1)})


def _reduce(ctx: Context) -> relax.Expr:
    reduce = _REDUCTIONS[ctx.operator.code]
    return reduce(ctx.input(0).expr, axes_of(ctx), ctx.options(ReducerOptions).keep_dims)


@converter("REDUCE_MAX", "REDUCE_MIN")
def convert_extremum(ctx: Context) -> relax.Expr:
    """The largest (smallest) integer along constant axes."""
    check_same_quantization(ctx.tensor(0), ctx.output())
    return _reduce(ctx)


@float_converter(*_REDUCTIONS)
def convert_float_reduction(ctx: Context) -> relax.Expr:
    """A reduction along constant axes."""
    return _reduce(ctx)
