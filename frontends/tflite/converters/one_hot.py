"""ONE_HOT."""

from __future__ import annotations

import numpy as np
from tvm import relax
from tvm.relax import op as R

from frontends.tflite.converters.context import Context, reshaped
from frontends.tflite.converters.registry import data_converter
from frontends.tflite.options import OneHotOptions
from qnn_ops.errors import QnnError
from qnn_ops.registry import TensorSpec


@data_converter("ONE_HOT")
def convert_one_hot(ctx: Context) -> relax.Expr:
    """Give one value at each place that is named along a new axis, and another elsewhere."""
    places, depth = ctx.input(0), ctx.integer(1)
    values = [ctx.input(position) for position in (2, 3)]
    rank, axis = len(places.shape), ctx.options(OneHotOptions).axis
    axis = rank if axis == -1 else axis
    if places.tensor.dtype not in ("int32", "int64"):
        raise QnnError(f"{places.tensor.label} must be int32 or int64")
    if not 0 <= axis <= rank or depth < 0 or any(value.shape not in ((), (1,)) for value in values):
        raise QnnError(f"axis {axis} of {depth} for {rank} axes, and one value each")
    ctx.check_size(TensorSpec((*places.shape, depth), ctx.output().dtype))
    shape = [1] * (rank + 1)
    shape[axis] = depth
    numbers = np.arange(depth).reshape(shape).astype(places.tensor.dtype)
    if depth == 0:
        shape = [*places.shape[:axis], 0, *places.shape[axis:]]
        return R.zeros(shape, ctx.output().dtype)
    is_named = R.equal(R.expand_dims(places.expr, axis), relax.const(numbers))
    return R.where(is_named, *(reshaped(value.expr, ()) for value in values))
