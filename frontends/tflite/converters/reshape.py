"""RESHAPE, SQUEEZE and EXPAND_DIMS."""

from __future__ import annotations

import math

from tvm import relax
from tvm.relax import op as R

from frontends.tflite.converters.context import Context, axis_of
from frontends.tflite.converters.quantization import check_same_quantization
from frontends.tflite.converters.registry import data_converter
from frontends.tflite.options import ReshapeOptions, SqueezeOptions
from qnn_ops.errors import QnnError


@data_converter("RESHAPE")
def convert_reshape(ctx: Context) -> relax.Expr:
    """The shape comes from an input or, in old files, from the options."""
    data = ctx.input(0)
    shape = list(_new_shape(ctx))
    count = math.prod(data.shape)
    declared = data.tensor.shape
    # A file of batch 1 asked for another batch: what it reshapes image by image stays so.
    if data.shape != declared and shape and shape[0] == (declared[:1] or (0,))[0] > 0:
        shape[0] = data.shape[0]
    if shape.count(-1) == 1:
        known = math.prod(size for size in shape if size != -1)
        shape[shape.index(-1)] = count // known if known else 0
    if any(size < 0 for size in shape) or math.prod(shape) != count:
        raise QnnError(f"cannot reshape {data.tensor.label} of shape {data.shape} to {shape}")
    return R.reshape(data.expr, shape)


def _new_shape(ctx: Context) -> tuple[int, ...]:
    if ctx.has(1) and len(ctx.tensor(1).shape) == 1:
        return ctx.integers(1)
    new_shape = ctx.options(ReshapeOptions).new_shape
    if new_shape is None:
        raise QnnError("states no new shape")
    return new_shape


@data_converter("SQUEEZE")
def convert_squeeze(ctx: Context) -> relax.Expr:
    """Drops the given dimensions of size 1, or all of them."""
    data = ctx.input(0)
    rank = len(data.shape)
    dims = {axis_of(dim, rank) for dim in ctx.options(SqueezeOptions).dims}
    if not dims:
        dims = {axis for axis, size in enumerate(data.shape) if size == 1}
    if any(data.shape[axis] != 1 for axis in dims):
        raise QnnError(f"cannot squeeze axes {sorted(dims)} out of shape {data.shape}")
    return R.reshape(data.expr, [s for axis, s in enumerate(data.shape) if axis not in dims])


@data_converter("EXPAND_DIMS")
def convert_expand_dims(ctx: Context) -> relax.Expr:
    """Inserts a dimension of size 1."""
    data, result = ctx.input(0), ctx.output()
    if data.tensor.quantization is not None and result.quantization is not None:
        check_same_quantization(data.tensor, result)
    return R.expand_dims(data.expr, axis_of(ctx.integer(1), len(data.shape) + 1))
