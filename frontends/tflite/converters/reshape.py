"""RESHAPE, SQUEEZE, EXPAND_DIMS, TRANSPOSE, TILE, BROADCAST_TO and FILL."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import chain

from tvm import relax
from tvm.relax import op as R

from frontends.errors import UnsupportedError
from frontends.tflite.axes import axis_of
from frontends.tflite.converters.context import Context, Operand, reshaped
from frontends.tflite.converters.quantization import check_same_quantization
from frontends.tflite.converters.registry import data_converter
from frontends.tflite.model import COMPLEX, HANDLE
from frontends.tflite.options import ReshapeOptions, SqueezeOptions
from qnn_ops.errors import QnnError


@data_converter("RESHAPE")
def convert_reshape(ctx: Context) -> relax.Expr:
    """Reshape. The shape comes from an input or, in old files, from the options.

    A constant of the file is taken as LiteRT takes it. LiteRT refuses one that does not fit; here
    another batch size takes the place of the file's, if that makes it fit. Where a run computes
    the shape, it is the one that the file states for the result, with one open size at most.
    """
    data = ctx.input(0)
    sizes, parts = _split_shape(data)
    given = _new_shape(ctx)
    others = [(now, *given[1:]) for before, now in _batches(ctx) if given[:1] == (before,)]
    for shape in (_whole(sizes, each) for each in (given, *others)):
        fits = min(shape, default=0) >= 0 and math.prod(shape) == math.prod(sizes)
        if fits and not (_is_computed(ctx) and ctx.input(1).shape != (len(shape),)):
            return reshaped(data.expr, [*shape, *parts])
    what = f"{data.tensor.label} of shape {sizes}"
    if _is_computed(ctx):
        raise QnnError(
            f"{ctx.tensor(1).label}, the new shape of {what}, must be constant, as it does not "
            f"follow from what the file states of the result, {given}"
        )
    raise QnnError(f"cannot reshape {what} to {[*given]}")


def _is_computed(ctx: Context) -> bool:
    """Tell whether the shape is an operand that the run gives."""
    if not ctx.has(1) or ctx.tensor(1).is_constant:
        return False
    return len(ctx.operand(ctx.tensor(1)).shape) == 1 and ctx.tensor(1).dtype == "int32"


def _batches(ctx: Context) -> list[tuple[int, int]]:
    """List batch sizes that the file states, if it states the shape too, and what they are now."""
    if ctx.has(1) and (ctx.tensor(1).index in (*ctx.model.computed, *ctx.model.inputs)):
        return []
    tensors = [ctx.tensor(0), *(ctx.model.tensors[index] for index in ctx.model.inputs)]
    known = [each for each in tensors if each.data is None and each.dtype != HANDLE]
    pairs = [zip(each.shape[:1], ctx.operand(each).shape, strict=False) for each in known]
    return [*chain.from_iterable(pairs)]


def _whole(sizes: Sequence[int], shape: tuple[int, ...]) -> tuple[int, ...]:
    """Put what is left of the data's elements in the place of one -1."""
    if shape.count(-1) != 1:
        return shape
    rest = _rest(sizes, [size for size in shape if size != -1])
    return tuple(rest if size == -1 else size for size in shape)


def _split_shape(data: Operand) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the shape that the file knows, and that of a complex number's parts, if it is one."""
    rank = len(data.shape) - (data.tensor.dtype == COMPLEX)
    return data.shape[:rank], data.shape[rank:]


def _rest(shape: Sequence[int], known: Sequence[int]) -> int:
    """Return the size that -1 stands for; where both are empty, LiteRT passes over sizes of 0."""
    if 0 in shape and 0 not in known:
        return 0
    return math.prod(filter(None, shape)) // math.prod(filter(None, known))


def _new_shape(ctx: Context) -> tuple[int, ...]:
    """Read the shape: an operand counts only as a vector of int32; without options, a scalar."""
    if _is_computed(ctx):
        return ctx.output().shape_signature or ctx.output().shape
    if ctx.has(1) and len(ctx.tensor(1).shape) == 1 and ctx.tensor(1).dtype == "int32":
        return ctx.integers(1)
    new_shape = ctx.options(ReshapeOptions).new_shape or ()
    # Of the operator's first versions, which had no other word for a scalar.
    return () if new_shape == (0,) else new_shape


@data_converter("SQUEEZE")
def convert_squeeze(ctx: Context) -> relax.Expr:
    """Drop the given dimensions of size 1, or all of them."""
    data = ctx.input(0)
    sizes, parts = _split_shape(data)
    dims = {axis_of(dim, len(sizes)) for dim in ctx.options(SqueezeOptions).dims}
    if not dims:
        dims = {axis for axis, size in enumerate(sizes) if size == 1}
    if any(sizes[axis] != 1 for axis in dims):
        raise QnnError(f"cannot squeeze axes {sorted(dims)} out of shape {sizes}")
    kept = [size for axis, size in enumerate(sizes) if axis not in dims]
    return reshaped(data.expr, [*kept, *parts])


@data_converter("EXPAND_DIMS")
def convert_expand_dims(ctx: Context) -> relax.Expr:
    """Insert a dimension of size 1."""
    data, result = ctx.input(0), ctx.output()
    if data.tensor.quantization is not None and result.quantization is not None:
        check_same_quantization(data.tensor, result)
    axis, (sizes, _) = ctx.integer(1, ("int32", "int64")), _split_shape(data)
    return R.expand_dims(data.expr, axis_of(axis, len(sizes) + 1))


@data_converter("TRANSPOSE")
def convert_transpose(ctx: Context) -> relax.Expr:
    """Permute the axes."""
    data = ctx.input(0)
    rank = len(data.shape)
    if rank == 0:  # LiteRT copies nothing
        raise QnnError(f"{data.tensor.label} is a scalar, which has no axes to permute")
    axes = [axis_of(axis, rank) for axis in ctx.integers(1)]
    if sorted(axes) != list(range(rank)):
        raise QnnError(f"{axes} is no permutation of {rank} axes")
    return R.permute_dims(data.expr, axes)


@data_converter("TILE")
def convert_tile(ctx: Context) -> relax.Expr:
    """Repeat the data along each axis."""
    data, counts = ctx.input(0), _vector_of_sizes(ctx, 1)
    if len(counts) != len(data.shape):
        raise QnnError(f"{len(counts)} counts for a tensor of shape {data.shape}")
    if all(count == 1 for count in counts):
        return data.expr
    if 0 in counts or 0 in data.shape:
        sizes = [size * count for size, count in zip(data.shape, counts, strict=True)]
        return R.zeros(sizes, data.tensor.dtype)
    return R.tile(data.expr, counts)


@data_converter("BROADCAST_TO")
def convert_broadcast_to(ctx: Context) -> relax.Expr:
    """Repeat the data along axes of size 1 and new ones in front."""
    data, shape = ctx.input(0), _vector_of_sizes(ctx, 1)
    rank = len(data.shape)
    kept = shape[len(shape) - rank :]
    if len(shape) < rank or any(
        size not in (1, wanted) for size, wanted in zip(data.shape, kept, strict=True)
    ):
        raise QnnError(f"cannot broadcast {data.tensor.label} of shape {data.shape} to {shape}")
    return R.zeros(shape, data.tensor.dtype) if 0 in shape else R.broadcast_to(data.expr, shape)


@data_converter("FILL")
def convert_fill(ctx: Context) -> relax.Expr:
    """Repeat one value."""
    shape, value = _vector_of_sizes(ctx, 0), ctx.input(1)
    if value.shape != ():
        raise QnnError(f"{value.tensor.label} must be one value, is of shape {value.shape}")
    if 0 in shape:
        return R.zeros(shape, value.tensor.dtype)
    return R.broadcast_to(reshaped(value.expr, [1] * len(shape)), shape)


def _vector_of_sizes(ctx: Context, position: int) -> tuple[int, ...]:
    sizes = ctx.integers(position, ("int32", "int64"))
    if len(ctx.tensor(position).shape) != 1 or any(size < 0 for size in sizes):
        raise QnnError(f"{ctx.tensor(position).label} must be a vector of sizes, got {sizes}")
    return sizes


@data_converter("ZEROS_LIKE")
def convert_zeros_like(ctx: Context) -> relax.Expr:
    """Return a tensor of the operand's shape that is all 0."""
    data = ctx.input(0)
    if data.tensor.dtype not in ("float32", "int32", "int64"):
        raise UnsupportedError(f"of {data.tensor.dtype}")
    return R.zeros(data.shape, data.tensor.dtype)
