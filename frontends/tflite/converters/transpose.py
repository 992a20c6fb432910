"""TRANSPOSE."""

from __future__ import annotations

from tvm import relax
from tvm.relax import op as R

from frontends.tflite.converters.context import Context, axis_of
from frontends.tflite.converters.registry import data_converter
from qnn_ops.errors import QnnError


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
