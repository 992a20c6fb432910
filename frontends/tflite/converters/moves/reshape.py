"""RESHAPE and similar operators, blocks of pixels, and what is computed of shapes at the import."""

from itertools import chain
from math import prod
from typing import Any

import numpy as np
from tvm import relax
from tvm.relax import op as R

from frontends.errors import UnsupportedError
from frontends.known import MOST
from frontends.ranges import of_sizes, whole_shape
from frontends.tflite.converters.context import Context, Operand, regrouped, reshaped
from frontends.tflite.converters.scales import check_same_quantization
from frontends.tflite.model import HANDLE
from frontends.tflite.operators import MOVED, UNKNOWN_SHAPE, converter
from qnn_ops import quantized_pad
from qnn_ops.dialect.checks import check_axis
from qnn_ops.dialect.known_values import equal
from qnn_ops.dialect.sizes import as_extent, broadcast, is_open
from qnn_ops.errors import QnnError

_RESHAPES = dict[str, Any](micro=MOVED, unpacks=("int4",), reshapes=True, keeps="numbers")
_COUNTED = ("int32", "int64", "float32")


@converter("RESHAPE", **_RESHAPES)
def convert_reshape(ctx: Context) -> relax.Expr:
    """Reshape. The shape comes from an input or, in old files, from the options.

    A constant of the file has LiteRT's meaning. LiteRT refuses a shape that does not fit. Here the
    batch size replaces the file's if the shape then fits. If a run computes the shape, the result
    has the shape in the file, with one open size at most.
    """
    data = ctx.input(0)
    sizes, parts = data.sizes, data.shape[len(data.sizes) :]
    given = _new_shape(ctx)
    others = [(now, *given[1:]) for before, now in _batches(ctx) if given[:1] == (before,)]
    for shape in (whole_shape(sizes, each) for each in (given, *others)):
        fits = all(size >= 0 for size in shape) and prod(shape) == prod(sizes)
        if fits and not (_is_computed(ctx) and ctx.input(1).shape != (len(shape),)):
            return reshaped(data.expr, [*shape, *parts])
    what = f"{data.label} of shape {sizes}"
    if _is_computed(ctx):
        raise QnnError(
            f"{ctx.tensor(1).label}, the new shape of {what}, must be constant, as it does not "
            f"follow from what the file states of the result, {given}"
        )
    raise QnnError(f"cannot reshape {what} to {[*given]}")


def _is_computed(ctx: Context) -> bool:
    """Tell whether the shape is an operand that the run computes."""
    if not ctx.has(1) or ctx.tensor(1).is_constant:
        return False
    return len(ctx.operand(ctx.tensor(1)).shape) == 1 and ctx.tensor(1).dtype == "int32"


def _batches(ctx: Context) -> list[tuple[int, int]]:
    """List the batch sizes of the file and of the import, if the file states the shape."""
    if ctx.has(1) and (ctx.tensor(1).index in (*ctx.model.computed, *ctx.model.inputs)):
        return []
    tensors = [ctx.tensor(0), *(ctx.model.tensors[index] for index in ctx.model.inputs)]
    known = [each for each in tensors if each.data is None and each.dtype != HANDLE]
    pairs = [zip(each.shape[:1], ctx.operand(each).shape, strict=False) for each in known]
    return [*chain.from_iterable(pairs)]


def _new_shape(ctx: Context) -> tuple[int, ...]:
    """Read the shape: an operand counts only if it is an int32 vector; the default is a scalar."""
    if _is_computed(ctx):
        return ctx.output().shape_signature or ctx.output().shape
    if ctx.has(1) and len(ctx.tensor(1).shape) == 1 and ctx.tensor(1).dtype == "int32":
        return ctx.integers(1)
    new_shape = ctx.options.new_shape or ()
    # The operator's first versions had no other form for a scalar.
    return () if new_shape == (0,) else new_shape


@converter("SQUEEZE", **_RESHAPES)
def convert_squeeze(ctx: Context) -> relax.Expr:
    """Drop the given dimensions of size 1, or all of them."""
    data = ctx.input(0)
    sizes = data.sizes
    dims = {check_axis(dim, len(sizes)) for dim in ctx.options.dims}
    if not dims:
        dims = {axis for axis, size in enumerate(sizes) if size == 1}
    if any(sizes[axis] != 1 for axis in dims):
        raise QnnError(f"cannot squeeze axes {sorted(dims)} out of shape {sizes}")
    kept = [size for axis, size in enumerate(sizes) if axis not in dims]
    return reshaped(data.expr, [*kept, *data.shape[len(sizes) :]])


@converter("EXPAND_DIMS", **_RESHAPES)
def convert_expand_dims(ctx: Context) -> relax.Expr:
    """Insert a dimension of size 1."""
    data, result = ctx.input(0), ctx.output()
    if data.tensor.quantization is not None and result.quantization is not None:
        check_same_quantization(data.tensor, result)
    axis = check_axis(ctx.integer(1, ("int32", "int64")), len(data.sizes) + 1)
    return R.expand_dims(data.expr, axis)


@converter("TRANSPOSE", micro=MOVED, unpacks=("int4",))
def convert_transpose(ctx: Context) -> relax.Expr:
    """Permute the axes."""
    data = ctx.input(0)
    rank = len(data.shape)
    if rank == 0:  # LiteRT copies nothing
        raise QnnError(f"{data.label} is a scalar, which has no axes to permute")
    axes = [check_axis(axis, rank) for axis in ctx.integers(1, ("int32", "int64"))]
    if sorted(axes) != list(range(rank)):
        raise QnnError(f"{axes} is no permutation of {rank} axes")
    return R.permute_dims(data.expr, axes)


@converter("TILE")
def convert_tile(ctx: Context) -> relax.Expr:
    """Repeat the data along each axis."""
    data, counts = ctx.input(0), _vector_of_sizes(ctx, 1)
    if len(counts) != len(data.shape):
        raise QnnError(f"{len(counts)} counts for a tensor of shape {data.shape}")
    if all(count == 1 for count in counts):
        return data.expr
    sizes = [size * count for size, count in zip(data.shape, counts, strict=True)]
    if is_open(counts):
        pairs = list(zip(counts, data.shape, strict=True))
        apart = reshaped(data.expr, [each for _, size in pairs for each in (1, size)])
        tiles = R.broadcast_to(ctx.emit(apart), [each for pair in pairs for each in pair])
        return reshaped(ctx.emit(tiles), sizes)
    return R.tile(data.expr, counts)


@converter("BROADCAST_TO", micro=MOVED)
def convert_broadcast_to(ctx: Context) -> relax.Expr:
    """Repeat the data along axes of size 1, and along new axes in front."""
    data, shape = ctx.input(0), _vector_of_sizes(ctx, 1)
    rank = len(data.shape)
    pairs = zip(data.shape, shape[len(shape) - rank :], strict=False)
    if len(shape) < rank or any(size not in (1, wanted) for size, wanted in pairs):
        raise QnnError(f"cannot broadcast {data.label} of shape {data.shape} to {shape}")
    return R.broadcast_to(data.expr, shape)


@converter("FILL", micro=MOVED)
def convert_fill(ctx: Context) -> relax.Expr:
    """Repeat one value."""
    shape, value = _vector_of_sizes(ctx, 0), ctx.input(1, rank=0)
    return R.broadcast_to(reshaped(value.expr, [1] * len(shape)), shape)


@converter("RANGE", states_dtype=True)
def convert_range(ctx: Context) -> relax.Expr:
    """Count from one number to another; integers may be open sizes.

    Source: GetSize and CalculateRange of TFLite's kernels/range.cc.
    """
    ends = [ctx.tensor(position) for position in range(3)]
    dtype = ends[0].dtype
    if any(not end.is_constant or end.dtype != dtype for end in ends) or dtype not in _COUNTED:
        raise UnsupportedError(UNKNOWN_SHAPE)
    for end in ends:
        if end.array.size != 1:
            raise QnnError(f"{end.label} must be one number, is of shape {end.shape}")
    start, limit, step = (end.array.item() for end in ends)
    if step == 0 or (limit - start) * step < 0:
        raise QnnError(f"no numbers lead from {start} to {limit} by steps of {step}")
    if dtype != "float32":
        return R.arange(*map(as_extent, (start, limit, step)), dtype)
    with np.errstate(all="ignore"):
        count = np.ceil(abs(np.float32(limit - start) / np.float32(step)))
    if not count <= MOST:  # it may be NaN
        raise UnsupportedError(f"of {count:.0f} numbers of float32")
    # Each number is the previous one plus a step, rounded each time.
    steps = np.array([start, *[step] * int(count - 1)][: int(count)], dtype)
    return relax.const(np.add.accumulate(steps, dtype=np.float32))


def _vector_of_sizes(ctx: Context, position: int) -> tuple[int, ...]:
    sizes = ctx.integers(position, ("int32", "int64"))
    if len(ctx.tensor(position).shape) != 1 or any(size < 0 for size in sizes):
        raise QnnError(f"{ctx.tensor(position).label} must be a vector of sizes, got {sizes}")
    return sizes


@converter("ZEROS_LIKE", dtypes=("float32", "int32", "int64"))
def convert_zeros_like(ctx: Context) -> relax.Expr:
    """Return zeros in the operand's shape."""
    data = ctx.input(0)
    return R.zeros(data.shape, data.dtype)


@converter("DEPTH_TO_SPACE", micro=MOVED)
def convert_depth_to_space(ctx: Context) -> relax.Expr:
    """Turn each pixel's channels into a block of pixels."""
    data, size = ctx.input(0, rank=4), ctx.options.block_size
    batch, height, width, depth = data.shape
    if size < 1 or depth % (size * size):
        raise QnnError(f"cannot make blocks of {size} of shape {data.shape}")
    depth //= size * size
    parts = (batch, height, width, size, size, depth)
    ordered = regrouped(ctx, data.expr, parts, [0, 1, 3, 2, 4, 5])
    return reshaped(ordered, (batch, height * size, width * size, depth))


@converter("SPACE_TO_DEPTH", micro=MOVED)
def convert_space_to_depth(ctx: Context) -> relax.Expr:
    """Turn each block of pixels into channels."""
    data, size = ctx.input(0, rank=4), ctx.options.block_size
    batch, height, width, depth = data.shape
    if size < 1 or height % size or width % size:
        raise QnnError(f"cannot take blocks of {size} of shape {data.shape}")
    parts = (batch, height // size, size, width // size, size, depth)
    ordered = regrouped(ctx, data.expr, parts, [0, 1, 3, 2, 4, 5])
    return reshaped(ordered, (batch, height // size, width // size, size * size * depth))


@converter("SPACE_TO_BATCH_ND", fills=True)
def convert_space_to_batch(ctx: Context) -> relax.Expr:
    """Pad with the zero point, and turn each position in a block into an image."""
    data = ctx.input(0)
    sizes, widths = _blocks(ctx, data)
    batch, *space, depth = data.shape
    padded = [size + sum(width) for size, width in zip(space, widths, strict=True)]
    if any(extent % size for extent, size in zip(padded, sizes, strict=True)):
        raise QnnError(f"cannot take blocks of {sizes} of {padded} pixels")
    expr = ctx.emit(_pad(ctx, data, widths))
    rank = len(space)
    counts = [extent // size for extent, size in zip(padded, sizes, strict=True)]
    inner = [each for pair in zip(counts, sizes, strict=True) for each in pair]
    axes = [*range(2, 2 * rank + 1, 2), 0, *range(1, 2 * rank, 2), 2 * rank + 1]
    ordered = regrouped(ctx, expr, (batch, *inner, depth), axes)
    return reshaped(ordered, (batch * prod(sizes), *counts, depth))


@converter("BATCH_TO_SPACE_ND", micro=MOVED)
def convert_batch_to_space(ctx: Context) -> relax.Expr:
    """Turn images into blocks of pixels, and crop the edges."""
    data = ctx.input(0)
    sizes, widths = _blocks(ctx, data)
    batch, *space, depth = data.shape
    if batch % prod(sizes):
        raise QnnError(f"cannot make blocks of {sizes} of {batch} pictures")
    rank = len(space)
    parts = (*sizes, batch // prod(sizes), *space, depth)
    pairs = [each for axis in range(rank) for each in (rank + 1 + axis, axis)]
    ordered = regrouped(ctx, data.expr, parts, [rank, *pairs, 2 * rank + 1])
    whole = [extent * size for extent, size in zip(space, sizes, strict=True)]
    expr = ctx.emit(reshaped(ordered, (batch // prod(sizes), *whole, depth)))
    ends = [extent - width[1] for extent, width in zip(whole, widths, strict=True)]
    begins = [width[0] for width in widths]
    if any(end < begin for begin, end in zip(begins, ends, strict=True)):
        raise QnnError(f"cannot crop {widths} of {whole} pixels")
    return R.strided_slice(expr, list(range(1, rank + 1)), begins, ends)


def _blocks(ctx: Context, data: Operand) -> tuple[list[int], list[list[int]]]:
    """Read the sizes of blocks and the widths on both sides, for each spatial axis."""
    rank = len(data.shape) - 2
    sizes, widths = ctx.integers(1), ctx.constant(2)
    ctx.integers(2)
    if rank not in (1, 2) or len(sizes) != rank or widths.shape != (rank, 2):
        raise QnnError(f"blocks {sizes} and widths {widths.tolist()} for shape {data.shape}")
    if min(sizes) < 1 or widths.min() < 0:
        raise QnnError(f"blocks {sizes} must be positive, widths {widths.tolist()} not negative")
    return list(sizes), widths.tolist()


def _pad(ctx: Context, data: Operand, widths: list[list[int]]) -> relax.Expr:
    flat = [0, 0, *(each for width in widths for each in width), 0, 0]
    if not any(flat):
        return data.expr
    encoding, dtype = ctx.output().quantization, data.dtype
    point = 0 if encoding is None else int(encoding.zero_point[0])
    if dtype in ("int8", "uint8"):
        return quantized_pad(data.expr, flat, point)
    if dtype == "bool":
        return R.astype(R.nn.pad(R.astype(data.expr, "uint8"), flat), "bool")
    return R.nn.pad(data.expr, flat, pad_value=point)


@converter("BROADCAST_ARGS", kind="known")
def convert_broadcast_args(ctx: Context) -> relax.Expr:
    """Broadcast two shapes."""
    shapes = [ctx.integers(index, ("int32", "int64")) for index in (0, 1)]
    try:
        sizes = broadcast(*shapes)
    except ValueError as error:
        raise QnnError(str(error)) from error
    return _sizes(ctx, sizes, ctx.tensor(0).dtype)


@converter("RANK", kind="known", of_shape=True)
def convert_rank(ctx: Context) -> relax.Expr:
    """Count the axes."""
    return relax.const(np.int32(len(ctx.input(0).sizes)))


@converter("SHAPE", kind="known", of_shape=True)
def convert_shape(ctx: Context) -> relax.Expr:
    """Return the sizes."""
    return _sizes(ctx, ctx.input(0).sizes, ctx.options.out_type)


def _sizes(ctx: Context, sizes: tuple[int, ...], dtype: str) -> relax.Expr:
    return R.astype(of_sizes(ctx.builder, np.array(sizes, object)), dtype)


@converter("WHERE", kind="known", refusal=UNKNOWN_SHAPE)
def convert_where(ctx: Context) -> relax.Expr:
    """List the indices of elements other than 0."""
    data = ctx.constant(0)
    if not data.ndim:
        raise UnsupportedError(f"{ctx.tensor(0).label} is a scalar")
    is_zero = equal(data, np.zeros((), data.dtype))  # an open size itself is not false
    return relax.const(np.argwhere(np.logical_not(is_zero)), "int64")
