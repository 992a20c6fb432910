"""MIRROR_PAD, REVERSE_V2 and REVERSE_SEQUENCE."""

from __future__ import annotations

from math import prod
from typing import Literal

import numpy as np
from tvm import relax
from tvm.relax import op as R

from frontends.errors import UnsupportedError
from frontends.tflite.converters.context import Context, axis_of, reshaped
from frontends.tflite.converters.registry import data_converter
from frontends.tflite.options import MirrorPadOptions, ReverseSequenceOptions
from qnn_ops.errors import QnnError

_MOST = 1 << 24  # elements of an axis that is padded


@data_converter("MIRROR_PAD")
def convert_mirror_pad(ctx: Context) -> relax.Expr:
    """Pad with what lies behind the edge; REFLECT leaves out the edge itself."""
    data, widths = ctx.input(0), ctx.constant(1)
    if widths.shape != (len(data.shape), 2):
        raise QnnError(f"paddings must have shape ({len(data.shape)}, 2), got {widths.shape}")
    ctx.integers(1, ("int32", "int64"))
    is_symmetric = ctx.options(MirrorPadOptions).mode == "SYMMETRIC"
    result = data.expr
    for axis, (size, (before, after)) in enumerate(zip(data.shape, widths.tolist(), strict=True)):
        if not 0 <= min(before, after) <= max(before, after) <= size - (not is_symmetric):
            raise QnnError(f"paddings {before} and {after} do not fit axis {axis} of {data.shape}")
        if size + before + after > _MOST and (before or after):
            raise QnnError(f"axis {axis} of {data.shape} is longer than {_MOST} with its paddings")
        if before or after:
            numbers = np.arange(size, dtype=np.int32)
            mode: Literal["symmetric", "reflect"] = "symmetric" if is_symmetric else "reflect"
            places = np.pad(numbers, (before, after), mode)
            result = ctx.builder.emit(R.take(result, relax.const(places), axis, "clip"))
    return result


@data_converter("REVERSE_V2")
def convert_reverse(ctx: Context) -> relax.Expr:
    """Reverse the order along axes."""
    data = ctx.input(0)
    axes = [axis_of(axis, len(data.shape)) for axis in ctx.integers(1)]
    if not axes or len(set(axes)) < len(axes):
        raise QnnError(f"must have axes, each once, got {axes}")
    result = data.expr
    for axis in axes:
        result = ctx.builder.emit(R.flip(result, axis))
    return result


@data_converter("REVERSE_SEQUENCE")
def convert_reverse_sequence(ctx: Context) -> relax.Expr:
    """Reverse the first so many elements along an axis, as many as each batch says."""
    data, lengths, options = ctx.input(0), ctx.input(1), ctx.options(ReverseSequenceOptions)
    shape, along, batch = data.shape, options.seq_dim, options.batch_dim
    if data.tensor.dtype in ("int8", "bool") or lengths.tensor.dtype not in ("int32", "int64"):
        raise UnsupportedError(f"of {data.tensor.dtype}, by lengths of {lengths.tensor.dtype}")
    if along == batch or not all(0 <= axis < len(shape) for axis in (along, batch)):
        raise QnnError(f"axes {along} and {batch} of a tensor of shape {shape}")
    if lengths.shape != (shape[batch],):
        raise QnnError(f"{lengths.shape} lengths for {shape[batch]} batches")
    count, size = shape[batch], shape[along]
    if lengths.tensor.is_constant:
        known = ctx.constant(1)
        if np.any(known < 0) or np.any(known > size):
            raise QnnError(f"{lengths.tensor.label} has lengths outside of 0 to {size}")
    if 0 in shape:
        return data.expr
    # Batches and sequences become one axis, which is gathered.
    rest = [axis for axis in range(len(shape)) if axis not in (along, batch)]
    order = [batch, along, *rest]
    moved = ctx.builder.emit(R.permute_dims(data.expr, order))
    rows = ctx.builder.emit(reshaped(moved, (count * size, prod(shape[axis] for axis in rest))))
    numbers = np.arange(size, dtype=np.int32)[np.newaxis]
    length = R.minimum(R.astype(lengths.expr, "int32"), relax.const(np.int32(size)))
    length = ctx.builder.emit(reshaped(ctx.builder.emit(length), (count, 1)))
    last = R.subtract(length, relax.const(np.int32(1)))
    backwards = R.subtract(last, relax.const(numbers))
    places = R.where(R.less(relax.const(numbers), length), backwards, relax.const(numbers))
    starts = np.arange(count, dtype=np.int32)[:, np.newaxis] * size
    flat = reshaped(ctx.builder.emit(R.add(places, relax.const(starts))), (count * size,))
    taken = ctx.builder.emit(R.take(rows, ctx.builder.emit(flat), 0, "clip"))
    ordered = ctx.builder.emit(reshaped(taken, [shape[axis] for axis in order]))
    return R.permute_dims(ordered, [order.index(axis) for axis in range(len(shape))])
