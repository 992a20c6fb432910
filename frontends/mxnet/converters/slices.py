"""Operators that take parts of a tensor, look rows up, or keep the newest slices of a stream.

The ring buffers are not operators of MXNet itself. Models for streams have them, which TVM's former
importer read. A buffer is an input or a parameter of the model. The caller feeds each result back.
"""

from __future__ import annotations

import numpy as np
from tvm import relax
from tvm.relax import op as R

from frontends.errors import UnsupportedError
from frontends.mxnet.converters.context import Context
from frontends.mxnet.converters.convolution import check_weight
from frontends.mxnet.converters.quantization import check_quantized, range_at
from frontends.mxnet.converters.registry import converter
from frontends.mxnet.scalars import Value
from qnn_ops.checks import check_axis
from qnn_ops.errors import QnnError


@converter("ring_buffer")
def convert_ring_buffer(ctx: Context) -> relax.Expr:
    """Append the data to the buffer, and drop its oldest slices."""
    return _append(ctx, ctx.expr(1))


@converter("_contrib_quantized_ring_buffer")
def convert_quantized_ring_buffer(ctx: Context) -> list[Value]:
    """Keep the newest slices of quantized data; the range stays what it was.

    A buffer of floats in the file is from the model before quantization: it starts with zeros.
    """
    dtype, bounds = check_quantized(ctx, 0), range_at(ctx, 2)
    known = ctx.known(1)
    if known is not None and known.dtype != dtype:
        buffer: relax.Expr = ctx.parameter(np.zeros(known.shape, dtype), "_buffer")
    else:
        buffer = ctx.expr(1)
    return [_append(ctx, buffer), bounds.low, bounds.high]


def _append(ctx: Context, buffer: relax.Expr) -> relax.Expr:
    shape, buffered = ctx.shape(0), ctx.shape(1)
    axis = ctx.attrs.integer("axis")
    if not -len(shape) <= axis < len(shape):
        raise QnnError(f"axis {axis} is outside a tensor of {len(shape)} dimensions")
    axis %= len(shape)
    if len(buffered) != len(shape) or any(
        sizes[0] != sizes[1]
        for place, sizes in enumerate(zip(shape, buffered, strict=True))
        if place != axis
    ):
        raise QnnError(f"the buffer must have shape {shape} except for axis {axis}, got {buffered}")
    joined = ctx.emit(R.concat([buffer, ctx.expr(0)], axis))
    size = shape[axis]
    return R.strided_slice(joined, [axis], [size], [size + buffered[axis]])


@converter("slice", "crop")
def convert_slice(ctx: Context) -> relax.Expr:
    """Slice from begin to end by step along the first axes; None for the axis's begin or end."""
    begins, ends = (ctx.attrs.optional_integers(name) for name in ("begin", "end"))
    steps = ctx.attrs.optional_integers("step") if ctx.attrs.has("step") else ()
    steps = steps or (None,) * len(begins)
    shape = ctx.shape(0)
    if not len(begins) == len(ends) == len(steps) <= len(shape) or 0 in steps:
        raise QnnError(
            f"begin, end and step must be as many, and no step 0, for {len(shape)} axes, "
            f"got {list(begins)}, {list(ends)} and {list(steps)}"
        )
    parts = [slice(*part) for part in zip(begins, ends, steps, strict=True)]
    return _parts(ctx, dict(enumerate(parts)))


@converter("slice_axis")
def convert_slice_axis(ctx: Context) -> relax.Expr:
    """Slice from begin to end along an axis."""
    axis = check_axis(ctx.attrs.integer("axis"), len(ctx.shape(0)))
    end = ctx.attrs.integer("end") if ctx.attrs.has("end") else None
    return _parts(ctx, {axis: slice(ctx.attrs.integer("begin"), end)})


@converter("slice_like")
def convert_slice_like(ctx: Context) -> relax.Expr:
    """Slice to the sizes of the second input, along some axes or all."""
    shape, like = ctx.shape(0), ctx.shape(1)
    axes = ctx.attrs.integers("axes", ()) or tuple(range(len(shape)))
    axes = tuple(check_axis(axis, len(shape)) for axis in axes)
    if any(axis >= len(like) or like[axis] > shape[axis] for axis in axes):
        raise QnnError(f"{shape} has no part as large as {like} along axes {list(axes)}")
    return _parts(ctx, {axis: slice(0, like[axis]) for axis in axes})


def _parts(ctx: Context, parts: dict[int, slice]) -> relax.Expr:
    ranges = {axis: range(ctx.shape(0)[axis])[part] for axis, part in parts.items()}
    if not all(ranges.values()):
        raise QnnError(f"nothing is left of shape {ctx.shape(0)}")
    begins = [part.start for part in ranges.values()]
    ends = [_end(part) for part in ranges.values()]
    steps = [part.step for part in ranges.values()]
    return R.strided_slice(ctx.expr(0), list(ranges), begins, ends, steps)


def _end(part: range) -> int:
    # In a backward slice, an end before the first element would count from the last one. Relax
    # takes any lower end as the beginning.
    return part.stop if part.step > 0 or part.stop >= 0 else -(2**31)


@converter("SliceChannel", "split")
def convert_split(ctx: Context) -> list[relax.Expr]:
    """Split into equal parts along an axis."""
    shape = ctx.shape(0)
    axis = check_axis(ctx.attrs.integer("axis", 1), len(shape))
    count = ctx.attrs.integer("num_outputs")
    if count < 1 or shape[axis] % count:
        raise QnnError(f"{count} outputs do not divide the {shape[axis]} of axis {axis}")
    size = shape[axis] // count
    kept = list(shape)
    kept[axis : axis + 1] = [] if ctx.attrs.flag("squeeze_axis", False) else [size]
    if len(kept) < len(shape) and size != 1:
        raise QnnError(f"squeeze_axis needs parts of size 1, they have {size}")
    starts = range(0, shape[axis], size)
    parts = (R.strided_slice(ctx.expr(0), [axis], [start], [start + size]) for start in starts)
    return [R.reshape(ctx.emit(part), kept) if len(kept) < len(shape) else part for part in parts]


@converter("Embedding")
def convert_embedding(ctx: Context) -> relax.Expr:
    """Take the row of the weight at each index; an index out of range is clamped."""
    rows = ctx.attrs.integer("input_dim")
    check_weight(ctx, (rows, ctx.attrs.integer("output_dim")))
    return R.take(ctx.expr(1), _indices(ctx, 0), 0, "clip")


@converter("take")
def convert_take(ctx: Context) -> relax.Expr:
    """Take the slices at indices along an axis; an index out of range is clamped."""
    if ctx.attrs.text("mode", "clip") != "clip":
        raise UnsupportedError("only mode clip is supported")
    axis = check_axis(ctx.attrs.integer("axis", 0), len(ctx.shape(0)))
    return R.take(ctx.expr(0), _indices(ctx, 1), axis, "clip")


def _indices(ctx: Context, position: int) -> relax.Expr:
    # MXNet holds indices as floats, too.
    return R.astype(ctx.expr(position), "int32")
