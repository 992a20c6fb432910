"""TILE, BROADCAST_TO and FILL."""

from __future__ import annotations

from tvm import relax
from tvm.relax import op as R

from frontends.errors import UnsupportedError
from frontends.tflite.converters.context import Context, reshaped
from frontends.tflite.converters.registry import data_converter
from qnn_ops.errors import QnnError


@data_converter("TILE")
def convert_tile(ctx: Context) -> relax.Expr:
    """Repeat the data along each axis."""
    data, counts = ctx.input(0), _sizes(ctx, 1)
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
    data, shape = ctx.input(0), _sizes(ctx, 1)
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
    shape, value = _sizes(ctx, 0), ctx.input(1)
    if value.shape != ():
        raise QnnError(f"{value.tensor.label} must be one value, is of shape {value.shape}")
    if 0 in shape:
        return R.zeros(shape, value.tensor.dtype)
    return R.broadcast_to(reshaped(value.expr, [1] * len(shape)), shape)


def _sizes(ctx: Context, position: int) -> tuple[int, ...]:
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
