"""ARG_MAX and ARG_MIN."""

from __future__ import annotations

from tvm import relax
from tvm.relax import op as R

from frontends.errors import UnsupportedError
from frontends.places import place_of
from frontends.tflite.converters.context import Context, axis_of
from frontends.tflite.converters.registry import data_converter
from frontends.tflite.options import ArgMaxOptions, ArgMinOptions
from qnn_ops.errors import QnnError

_OPTIONS: dict[str, type[ArgMaxOptions] | type[ArgMinOptions]] = {
    "ARG_MAX": ArgMaxOptions,
    "ARG_MIN": ArgMinOptions,
}
_FUNCTIONS = {"ARG_MAX": R.argmax, "ARG_MIN": R.argmin}


@data_converter(*_FUNCTIONS)
def convert_arg_max(ctx: Context) -> relax.Expr:
    """Return the index of the first of the largest (smallest) elements along an axis."""
    data = ctx.input(0)
    # Whatever the file says of the tensor.
    dtype = ctx.options(_OPTIONS[ctx.operator.code]).output_type
    if dtype not in ("int32", "int64"):
        raise UnsupportedError(f"a result of type {dtype}")
    axis = axis_of(ctx.integer(1, ("int32", "int64")), len(data.shape))
    if data.shape[axis] == 0:
        raise QnnError(f"axis {axis} of {data.tensor.label} has no elements")
    if 0 in data.shape:
        return R.zeros([*data.shape[:axis], *data.shape[axis + 1 :]], dtype)
    index = place_of(_FUNCTIONS[ctx.operator.code], data.expr, axis)
    return index if dtype == "int64" else R.astype(index, dtype)
