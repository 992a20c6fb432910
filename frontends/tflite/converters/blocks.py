"""Pixels of blocks as channels or as pictures of a batch, and back."""

from __future__ import annotations

from math import prod

from tvm import relax
from tvm.relax import op as R

from frontends.tflite.converters.context import Context, Operand, reshaped
from frontends.tflite.converters.registry import data_converter
from frontends.tflite.options import DepthToSpaceOptions, SpaceToDepthOptions
from qnn_ops import quantized_pad
from qnn_ops.errors import QnnError


@data_converter("DEPTH_TO_SPACE")
def convert_depth_to_space(ctx: Context) -> relax.Expr:
    """Make a block of pixels of each pixel's channels."""
    data, size = _image(ctx), ctx.options(DepthToSpaceOptions).block_size
    batch, height, width, depth = data.shape
    if size < 1 or depth % (size * size):
        raise QnnError(f"cannot make blocks of {size} of shape {data.shape}")
    depth //= size * size
    split = reshaped(data.expr, (batch, height, width, size, size, depth))
    ordered = ctx.builder.emit(R.permute_dims(ctx.builder.emit(split), [0, 1, 3, 2, 4, 5]))
    return reshaped(ordered, (batch, height * size, width * size, depth))


@data_converter("SPACE_TO_DEPTH")
def convert_space_to_depth(ctx: Context) -> relax.Expr:
    """Make channels of each block of pixels."""
    data, size = _image(ctx), ctx.options(SpaceToDepthOptions).block_size
    batch, height, width, depth = data.shape
    if size < 1 or height % size or width % size:
        raise QnnError(f"cannot take blocks of {size} of shape {data.shape}")
    split = reshaped(data.expr, (batch, height // size, size, width // size, size, depth))
    ordered = ctx.builder.emit(R.permute_dims(ctx.builder.emit(split), [0, 1, 3, 2, 4, 5]))
    return reshaped(ordered, (batch, height // size, width // size, size * size * depth))


@data_converter("SPACE_TO_BATCH_ND")
def convert_space_to_batch(ctx: Context) -> relax.Expr:
    """Pad with the zero point, and make a picture of each place of a block."""
    data = ctx.input(0)
    sizes, widths = _blocks(ctx, data)
    batch, *space, depth = data.shape
    padded = [size + sum(width) for size, width in zip(space, widths, strict=True)]
    if any(extent % size for extent, size in zip(padded, sizes, strict=True)):
        raise QnnError(f"cannot take blocks of {sizes} of {padded} pixels")
    expr = ctx.builder.emit(_pad(ctx, data, widths))
    rank = len(space)
    counts = [extent // size for extent, size in zip(padded, sizes, strict=True)]
    inner = [each for pair in zip(counts, sizes, strict=True) for each in pair]
    split = ctx.builder.emit(reshaped(expr, (batch, *inner, depth)))
    axes = [*range(2, 2 * rank + 1, 2), 0, *range(1, 2 * rank, 2), 2 * rank + 1]
    ordered = ctx.builder.emit(R.permute_dims(split, axes))
    return reshaped(ordered, (batch * prod(sizes), *counts, depth))


@data_converter("BATCH_TO_SPACE_ND")
def convert_batch_to_space(ctx: Context) -> relax.Expr:
    """Make blocks of pixels of pictures, and crop the edges."""
    data = ctx.input(0)
    sizes, widths = _blocks(ctx, data)
    batch, *space, depth = data.shape
    if batch % prod(sizes):
        raise QnnError(f"cannot make blocks of {sizes} of {batch} pictures")
    rank = len(space)
    split = ctx.builder.emit(reshaped(data.expr, (*sizes, batch // prod(sizes), *space, depth)))
    pairs = [each for axis in range(rank) for each in (rank + 1 + axis, axis)]
    ordered = ctx.builder.emit(R.permute_dims(split, [rank, *pairs, 2 * rank + 1]))
    whole = [extent * size for extent, size in zip(space, sizes, strict=True)]
    expr = ctx.builder.emit(reshaped(ordered, (batch // prod(sizes), *whole, depth)))
    ends = [extent - width[1] for extent, width in zip(whole, widths, strict=True)]
    begins = [width[0] for width in widths]
    if any(end < begin for begin, end in zip(begins, ends, strict=True)):
        raise QnnError(f"cannot crop {widths} of {whole} pixels")
    left = [end - begin for begin, end in zip(begins, ends, strict=True)]
    if 0 in left:
        return R.zeros([batch // prod(sizes), *left, depth], data.tensor.dtype)
    return R.strided_slice(expr, list(range(1, rank + 1)), begins, ends)


def _image(ctx: Context) -> Operand:
    data = ctx.input(0)
    if len(data.shape) != 4:
        raise QnnError(f"{data.tensor.label} must have 4 axes, is of shape {data.shape}")
    return data


def _blocks(ctx: Context, data: Operand) -> tuple[list[int], list[list[int]]]:
    """Read the sizes of blocks and the widths on both sides, of each axis of space."""
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
    encoding, dtype = ctx.output().quantization, data.tensor.dtype
    point = 0 if encoding is None else int(encoding.zero_point[0])
    if dtype in ("int8", "uint8"):
        return quantized_pad(data.expr, flat, point)
    if dtype == "bool":
        return R.astype(R.nn.pad(R.astype(data.expr, "uint8"), flat), "bool")
    return R.nn.pad(data.expr, flat, pad_value=point)
