"""Operators that move elements: reshape, transpose, split, concatenate, gather and pad.

The ring buffers are not operators of MXNet itself. Models for streams have them, and TVM's former
importer read such models. A buffer is an input or a parameter of the model. The caller feeds each
result back.
"""

from collections.abc import Sequence
from math import prod

import numpy as np
from tvm import relax
from tvm.relax import op as R

from frontends.errors import UnsupportedError
from frontends.mxnet.converters.context import Context, converter
from frontends.mxnet.converters.quantization import check_quantized, range_at
from frontends.mxnet.scalars import Value
from qnn_ops.dialect.checks import check_axis
from qnn_ops.errors import QnnError

_COPY, _INFER, _COPY_REST, _MERGE, _SPLIT = 0, -1, -2, -3, -4


def new_shape(
    shape: Sequence[int], codes: Sequence[int], *, is_reverse: bool = False
) -> tuple[int, ...]:
    """Return the shape that ``codes`` describe.

    A positive code is a size. 0 copies a size of the old shape, -1 takes the remaining elements, -2
    copies all remaining sizes, -3 is the product of the next two, and -4 splits the next one into
    the two sizes that follow the code; one of them may be -1.

    Args:
        shape: the tensor's shape.
        codes: the attribute ``shape``.
        is_reverse: whether to read both from the last to the first; -4 then comes after its two
            sizes.

    Raises:
        QnnError: the codes do not fit the shape.
    """
    step = -1 if is_reverse else 1
    try:
        sizes = _read(shape[::step], codes[::step])[::step]
    except (StopIteration, IndexError):
        raise QnnError(f"shape {list(codes)} asks for more axes than {tuple(shape)} has") from None
    total, rest = prod(shape), prod(size for size in sizes if size != _INFER)
    result = tuple(total // (rest or 1) if size == _INFER else size for size in sizes)
    is_odd = sizes.count(_INFER) > 1 or min(sizes, default=1) < _INFER
    if is_odd or (_INFER in sizes and not rest) or prod(result) != total:
        raise QnnError(f"shape {list(codes)} does not fit a tensor of shape {tuple(shape)}")
    return result


def _read(shape: Sequence[int], codes: Sequence[int]) -> list[int]:
    sizes: list[int] = []
    left = iter(codes)
    read = 0
    for code in left:
        if code == _COPY:
            sizes.append(shape[read])
            read += 1
        elif code == _COPY_REST:
            sizes.extend(shape[read:])
            read = len(shape)
        elif code == _MERGE:
            sizes.append(shape[read] * shape[read + 1])
            read += 2
        elif code == _SPLIT:
            sizes.extend(_split(shape[read], next(left), next(left)))
            read += 1
        else:
            sizes.append(code)
            read += 1
    return sizes


def _split(whole: int, first: int, second: int) -> tuple[int, int]:
    if first == _INFER and second > 0:
        first = whole // second
    elif second == _INFER and first > 0:
        second = whole // first
    if first < 1 or second < 1 or first * second != whole:
        raise QnnError(f"a size of {whole} cannot be split into {first} and {second}")
    return first, second


@converter("Flatten", "flatten")
def convert_flatten(ctx: Context) -> relax.Expr:
    """Make one row of each item of the batch."""
    shape = ctx.shape(0)
    return R.reshape(ctx.expr(0), (*shape[:1], prod(shape[1:])))


@converter("Reshape", "reshape")
def convert_reshape(ctx: Context) -> relax.Expr:
    """Reshape to the shape of the attribute's codes; before 0.9, to a target shape."""
    attrs = ctx.attrs
    codes = attrs.integers("shape", ())
    if codes:
        return R.reshape(
            ctx.expr(0), new_shape(ctx.shape(0), codes, is_reverse=attrs.flag("reverse", False))
        )
    target = attrs.integers("target_shape")
    if attrs.flag("keep_highest", False):
        target = (*ctx.shape(0)[:1], *target[1:])
    inferred = [-1 if size == 0 else size for size in target]
    return R.reshape(ctx.expr(0), new_shape(ctx.shape(0), inferred))


@converter("reshape_like")
def convert_reshape_like(ctx: Context) -> relax.Expr:
    """Reshape to the shape of the second input."""
    if any(ctx.attrs.has(name) for name in ("lhs_begin", "lhs_end", "rhs_begin", "rhs_end")):
        raise QnnError("only whole shapes are supported")
    return R.reshape(ctx.expr(0), new_shape(ctx.shape(0), ctx.shape(1)))


@converter("transpose")
def convert_transpose(ctx: Context) -> relax.Expr:
    """Transpose to the given order of axes; without one, reverse it."""
    axes = ctx.attrs.integers("axes", ()) or tuple(reversed(range(ctx.rank)))
    axes = tuple(check_axis(axis, ctx.rank) for axis in axes)
    if sorted(axes) != list(range(ctx.rank)):
        raise QnnError(f"attribute axes must name each of {ctx.rank} axes once, got {list(axes)}")
    return R.permute_dims(ctx.expr(0), axes)


@converter("SwapAxis", "swapaxes")
def convert_swap_axis(ctx: Context) -> relax.Expr:
    """Exchange two axes."""
    axes = list(range(ctx.rank))
    first, second = (ctx.axis(0, name) for name in ("dim1", "dim2"))
    axes[first], axes[second] = axes[second], axes[first]
    return R.permute_dims(ctx.expr(0), axes)


@converter("expand_dims")
def convert_expand_dims(ctx: Context) -> relax.Expr:
    """Insert an axis of size 1."""
    shape = list(ctx.shape(0))
    shape.insert(ctx.axis(more=1), 1)
    return R.reshape(ctx.expr(0), shape)


@converter("squeeze")
def convert_squeeze(ctx: Context) -> relax.Expr:
    """Drop the given axes of size 1, or all."""
    shape = ctx.shape(0)
    axes = {check_axis(axis, len(shape)) for axis in ctx.attrs.integers("axis", ())}
    if any(shape[axis] != 1 for axis in axes):
        raise QnnError(f"attribute axis must name axes of size 1, got {sorted(axes)} of {shape}")
    if not ctx.attrs.has("axis"):
        axes = {axis for axis, size in enumerate(shape) if size == 1}
    kept = [size for axis, size in enumerate(shape) if axis not in axes]
    # MXNet 1.x has no scalars.
    return R.reshape(ctx.expr(0), kept or [1])


@converter("ring_buffer")
def convert_ring_buffer(ctx: Context) -> relax.Expr:
    """Append the data to the buffer, and drop its oldest slices."""
    return _append(ctx, ctx.expr(1))


@converter("_contrib_quantized_ring_buffer")
def convert_quantized_ring_buffer(ctx: Context) -> list[Value]:
    """Keep the newest slices of quantized data; the range does not change.

    A buffer of floats in the file is from the model before quantization: it starts with zeros.
    """
    dtype, bounds = check_quantized(ctx, 0), range_at(ctx, 2)
    known = ctx.known(1)
    if known is not None and known.dtype != dtype:
        buffer: relax.Expr = ctx.parameter(np.zeros(known.shape, dtype), "_buffer")
    else:
        buffer = ctx.expr(1)
    return [_append(ctx, buffer), *bounds]


def _append(ctx: Context, buffer: relax.Expr) -> relax.Expr:
    shape, buffered, axis = ctx.shape(0), ctx.shape(1), ctx.axis()
    rests = [(*each[:axis], *each[axis + 1 :]) for each in (shape, buffered)]
    if len(buffered) != len(shape) or rests[0] != rests[1]:
        raise QnnError(f"the buffer must have shape {shape} except for axis {axis}, got {buffered}")
    joined = ctx.emit(R.concat([buffer, ctx.expr(0)], axis))
    size = shape[axis]
    return R.strided_slice(joined, [axis], [size], [size + buffered[axis]])


@converter("slice", "crop")
def convert_slice(ctx: Context) -> relax.Expr:
    """Slice from begin to end by step along the first axes; None means the axis's begin or end."""
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
    axis, end = ctx.axis(), ctx.attrs.integer("end") if ctx.attrs.has("end") else None
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
    found = ranges.values()
    begins, ends = [part.start for part in found], [_end(part) for part in found]
    return R.strided_slice(ctx.expr(0), list(ranges), begins, ends, [part.step for part in found])


def _end(part: range) -> int:
    # In a backward slice, an end before the first element would count from the last one. Relax
    # takes any lower end as the beginning.
    return part.stop if part.step > 0 or part.stop >= 0 else -(2**31)


@converter("SliceChannel", "split")
def convert_split(ctx: Context) -> list[relax.Expr]:
    """Split into equal parts along an axis."""
    shape, axis, count = ctx.shape(0), ctx.axis(1), ctx.attrs.integer("num_outputs")
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
    """Return the row of the weight at each index; an index out of range is clamped."""
    sizes = ctx.attrs.integer("input_dim"), ctx.attrs.integer("output_dim")
    ctx.check_shape(1, sizes, "the weight")
    return R.take(ctx.expr(1), _indices(ctx, 0), 0, "clip")


@converter("take")
def convert_take(ctx: Context) -> relax.Expr:
    """Return the slices at indices along an axis; an index out of range is clamped."""
    if ctx.attrs.text("mode", "clip") != "clip":
        raise UnsupportedError("only mode clip is supported")
    return R.take(ctx.expr(0), _indices(ctx, 1), ctx.axis(0), "clip")


def _indices(ctx: Context, position: int) -> relax.Expr:
    # MXNet holds indices as floats, too.
    return R.astype(ctx.expr(position), "int32")


@converter("Concat", "concat")
def convert_concat(ctx: Context) -> relax.Expr:
    """Concatenate all inputs along an axis."""
    shapes = _shapes(ctx)
    axis = ctx.axis(1, "dim")
    others = {(*shape[:axis], *shape[axis + 1 :]) for shape in shapes}
    if len(others) != 1 or len({len(shape) for shape in shapes}) != 1:
        raise QnnError(f"the inputs must have one shape except for axis {axis}, got {shapes}")
    return R.concat(ctx.exprs(), axis)


@converter("stack")
def convert_stack(ctx: Context) -> relax.Expr:
    """Stack all inputs along a new axis."""
    shapes = _shapes(ctx)
    if len(set(shapes)) != 1:
        raise QnnError(f"the inputs must have one shape, got {shapes}")
    return R.stack(ctx.exprs(), ctx.axis(0, more=1))


def _shapes(ctx: Context) -> list[tuple[int, ...]]:
    """Return the shapes of all inputs, which an attribute counts."""
    count = ctx.attrs.integer("num_args", ctx.arity)
    if count != ctx.arity or count < 1:
        raise QnnError(f"attribute num_args is {count}, there are {ctx.arity} inputs")
    return ctx.shapes()


@converter("tile")
def convert_tile(ctx: Context) -> relax.Expr:
    """Return the whole tensor several times along each axis."""
    repeats = ctx.attrs.integers("reps")
    if not repeats or min(repeats) < 1:
        raise QnnError(f"attribute reps must be numbers of at least 1, got {list(repeats)}")
    return R.tile(ctx.expr(0), repeats)


@converter("repeat")
def convert_repeat(ctx: Context) -> relax.Expr:
    """Repeat each slice along an axis; without an axis, each value."""
    repeats = ctx.attrs.integer("repeats")
    if repeats < 1:
        raise QnnError(f"attribute repeats must be at least 1, got {repeats}")
    return R.repeat(ctx.expr(0), repeats, ctx.axis() if ctx.attrs.has("axis") else None)


@converter("UpSampling")
def convert_up_sampling(ctx: Context) -> relax.Expr:
    """Repeat each pixel, to the right and below."""
    if ctx.attrs.text("sample_type") != "nearest" or ctx.arity != 1:
        raise UnsupportedError("only sample_type nearest of a single input is supported")
    scale = ctx.attrs.integer("scale")
    if ctx.rank != 4 or scale < 1:
        raise QnnError(
            f"the data must have 4 dimensions and scale be at least 1, got {ctx.shape(0)} and "
            f"{scale}"
        )
    height, width = (size * scale for size in ctx.shape(0)[2:])
    return R.image.resize2d(
        ctx.expr(0),
        (height, width),
        layout="NCHW",
        method="nearest_neighbor",
        coordinate_transformation_mode="asymmetric",
        rounding_method="floor",
    )


_MODES = {"constant": "constant", "edge": "replicate", "reflect": "reflect"}


@converter("Pad", "pad")
def convert_pad(ctx: Context) -> relax.Expr:
    """Pad with a constant, with the values at the edge, or with reflected values."""
    shape, widths = ctx.shape(0), ctx.attrs.integers("pad_width")
    mode = ctx.attrs.text("mode", None, tuple(_MODES))
    if len(widths) != 2 * len(shape) or min(widths) < 0:
        raise QnnError(
            f"attribute pad_width must be {2 * len(shape)} numbers of at least 0, "
            f"got {list(widths)}"
        )
    widest = [max(widths[2 * axis : 2 * axis + 2]) for axis in range(len(shape))]
    if mode == "reflect" and any(wide >= size for wide, size in zip(widest, shape, strict=True)):
        raise QnnError(f"a shape of {shape} cannot reflect a pad_width of {list(widths)}")
    value = ctx.attrs.real("constant_value", 0)
    return R.nn.pad(ctx.expr(0), widths, _MODES[mode], value)
