"""ARG_MAX and ARG_MIN."""

from __future__ import annotations

from tvm import relax
from tvm.relax import op as R

from frontends.errors import UnsupportedError
from frontends.places import place_of
from frontends.tflite.converters.context import Context, axis_of
from frontends.tflite.converters.registry import data_converter

_FUNCTIONS = {"ARG_MAX": R.argmax, "ARG_MIN": R.argmin}


@data_converter(*_FUNCTIONS)
def convert_arg_max(ctx: Context) -> relax.Expr:
    """The index of the first of the largest (smallest) elements along an axis."""
    data, dtype = ctx.input(0), ctx.output().dtype
    if dtype not in ("int32", "int64"):
        raise UnsupportedError(f"a result of type {dtype}")
    axis = axis_of(ctx.integer(1), len(data.shape))
    index = place_of(_FUNCTIONS[ctx.operator.code], data.expr, axis)
    return index if dtype == "int64" else R.astype(index, dtype)
