"""SPLIT and SPLIT_V."""

from __future__ import annotations

from collections.abc import Sequence

from tvm import relax
from tvm.relax import op as R

from frontends.splits import split
from frontends.tflite.converters.context import Context, Operand, axis_of
from frontends.tflite.converters.registry import data_converter
from frontends.tflite.options import SplitOptions
from qnn_ops.errors import QnnError


@data_converter("SPLIT")
def convert_split(ctx: Context) -> list[relax.Expr]:
    """Split into parts of equal size; the axis is the first input."""
    count, data = ctx.options(SplitOptions).num_splits, ctx.input(1)
    axis = axis_of(ctx.integer(0), len(data.shape))
    if data.shape[axis] % count:
        raise QnnError(f"cannot split {data.shape[axis]} along axis {axis} into {count}")
    return _parts(ctx, data, [data.shape[axis] // count] * count, axis)


@data_converter("SPLIT_V")
def convert_split_v(ctx: Context) -> list[relax.Expr]:
    """Split into given sizes, one of which may be -1 for the rest; the axis is the third input."""
    data, given = ctx.input(0), ctx.integers(1, ("int32", "int64"))
    axis = axis_of(ctx.integer(2), len(data.shape))
    return _parts(ctx, data, split_sizes(given, data.shape[axis], axis), axis)


def split_sizes(given: Sequence[int], size: int, axis: int) -> list[int]:
    """Return the sizes of a SPLIT_V, one of which may be given as -1 for the rest."""
    sizes = [*given]
    if sizes.count(-1) == 1:
        sizes[sizes.index(-1)] = size - sum(part for part in sizes if part != -1)
    if any(part < 0 for part in sizes) or sum(sizes) != size:
        raise QnnError(f"cannot split {size} along axis {axis} into {sizes}")
    return sizes


def _parts(ctx: Context, data: Operand, sizes: list[int], axis: int) -> list[relax.Expr]:
    if len(sizes) != len(ctx.operator.outputs):
        raise QnnError(f"splits into {len(sizes)}, has {len(ctx.operator.outputs)} outputs")
    # TVM's own split has no parts without elements.
    some = [size for size in sizes if size]
    parts = iter(split(ctx.builder, data.expr, some, axis) if some else ())
    dtype, shape = data.tensor.dtype, data.shape
    nothing = R.zeros([*shape[:axis], 0, *shape[axis + 1 :]], dtype)
    return [next(parts) if size else nothing for size in sizes]
