"""STABLEHLO_PAD, and what is put around and between elements."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np
from tvm import relax
from tvm.relax import op as R

from frontends.builder import ModuleBuilder
from frontends.errors import UnsupportedError
from frontends.tflite.converters.context import Context, reshaped
from frontends.tflite.converters.registry import data_converter
from frontends.tflite.options import StablehloPadOptions
from frontends.tflite.values import DTYPES
from qnn_ops.errors import QnnError
from qnn_ops.registry import spec_of

MOST_AXES = 8  # that LiteRT takes
_MOST = 2**31 - 1
_MOST_SIZE = 1 << 24  # of an axis, of which a table has the place of each element


@data_converter("STABLEHLO_PAD")
def convert_stablehlo_pad(ctx: Context) -> relax.Expr:
    """Put a value before, behind and between elements; less than none leaves elements out."""
    data, filler, options = ctx.input(0), ctx.input(1), ctx.options(StablehloPadOptions)
    dtype, shape = data.tensor.dtype, data.shape
    if not shape or dtype not in DTYPES:
        raise UnsupportedError(f"{data.tensor.label}, {dtype} of shape {shape}")
    if filler.tensor.dtype != dtype or prod(filler.shape) != 1:
        raise QnnError(f"{filler.tensor.label} must be one {dtype}")
    low, high, between = (
        check_axes(name, getattr(options, name), len(shape), least)
        for name, least in (
            ("edge_padding_low", -_MOST),
            ("edge_padding_high", -_MOST),
            ("interior_padding", 0),
        )
    )
    return spread(ctx.builder, data.expr, filler.expr, low, high, between)


def check_axes(name: str, values: Sequence[int], rank: int, least: int) -> tuple[int, ...]:
    """Return numbers of which an option has one for each axis.

    Raises:
        QnnError: there are more or fewer, or one is below what it may be at least, or too large.
    """
    if len(values) != rank or rank > MOST_AXES:
        raise QnnError(f"{name} must have a number for each of {rank} axes, got {tuple(values)}")
    if min(values) < least or max(values) > _MOST:
        raise QnnError(f"{name} must be {least} to {_MOST}, got {tuple(values)}")
    return tuple(values)


def spread(
    builder: ModuleBuilder,
    data: relax.Expr,
    filler: relax.Expr,
    low: Sequence[int],
    high: Sequence[int],
    between: Sequence[int],
) -> relax.Expr:
    """Put one value before, behind and between the elements of each axis.

    Where one would have no elements, no axis has any.

    Raises:
        QnnError: an axis would have too many elements.
    """
    spec = spec_of(builder.typed(data))
    rank, filler = len(spec.shape), reshaped(filler, ())
    steps = [each + 1 for each in between]
    sizes = [
        before + ((size - 1) * step + 1 if size else 0) + behind
        for before, size, step, behind in zip(low, spec.shape, steps, high, strict=True)
    ]
    if max(sizes) > _MOST_SIZE or prod(max(size, 0) for size in sizes) > _MOST:
        raise QnnError(f"a result of shape {tuple(sizes)} is too large")
    if min(sizes) <= 0:
        return R.zeros([0] * rank, spec.dtype)  # as LiteRT's
    if 0 in spec.shape:
        return R.broadcast_to(filler, sizes)
    for axis, (before, size, step) in enumerate(zip(low, sizes, steps, strict=True)):
        places = np.arange(size, dtype=np.int64) - before
        is_kept = (places >= 0) & (places % step == 0) & (places // step < spec.shape[axis])
        if size == spec.shape[axis] and is_kept.all():
            continue
        nearest = np.clip(places // step, 0, spec.shape[axis] - 1).astype(np.int32)
        taken = builder.emit(R.take(data, relax.const(nearest), axis, "clip"))
        flags = relax.const(is_kept.reshape(size, *[1] * (rank - axis - 1)))
        data = taken if is_kept.all() else builder.emit(R.where(flags, taken, filler))
    return data
