"""DYNAMIC_UPDATE_SLICE."""

from __future__ import annotations

import numpy as np
from tvm import relax
from tvm.relax import op as R

from frontends.errors import UnsupportedError
from frontends.tflite.converters.context import Context, reshaped
from frontends.tflite.converters.registry import data_converter
from qnn_ops.errors import QnnError

_PLACES = ("int32", "int64")


@data_converter("DYNAMIC_UPDATE_SLICE")
def convert_dynamic_update_slice(ctx: Context) -> relax.Expr:
    """Put a tensor into a larger one, at a place that is moved inside if it is not."""
    data, part, begins = ctx.inputs()
    rank = len(data.shape)
    if part.tensor.dtype != data.tensor.dtype or begins.tensor.dtype not in _PLACES:
        dtypes = [part.tensor.dtype, begins.tensor.dtype]
        raise UnsupportedError(f"{dtypes} into {data.tensor.dtype}")
    if begins.shape != (rank,) or len(part.shape) != rank:
        raise QnnError(f"{part.shape} at {begins.shape} places is no part of {data.shape}")
    if any(size > whole for size, whole in zip(part.shape, data.shape, strict=True)):
        raise QnnError(f"a part of shape {part.shape} does not fit into {data.shape}")
    if 0 in part.shape:
        return data.expr
    wide = ctx.builder.emit(R.astype(begins.expr, "int64"))
    moved, is_inside = part.expr, None
    for axis, (size, whole) in enumerate(zip(part.shape, data.shape, strict=True)):
        if size == whole:
            continue
        begin = R.strided_slice(wide, [0], [axis], [axis + 1])
        begin = ctx.builder.emit(R.clip(ctx.builder.emit(begin), 0, whole - size))
        places = R.subtract(relax.const(np.arange(whole), "int64"), begin)
        places = ctx.builder.emit(places)
        near = ctx.builder.emit(R.clip(places, 0, size - 1))
        moved = ctx.builder.emit(R.take(moved, near, axis, "clip"))
        row = reshaped(ctx.builder.emit(R.equal(places, near)), [whole] + [1] * (rank - axis - 1))
        row = ctx.builder.emit(row)
        is_inside = row if is_inside is None else ctx.builder.emit(R.logical_and(is_inside, row))
    return moved if is_inside is None else R.where(is_inside, moved, data.expr)
