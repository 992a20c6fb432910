"""MIRROR_PAD and REVERSE_V2."""

from __future__ import annotations

from typing import Literal

import numpy as np
from tvm import relax
from tvm.relax import op as R

from frontends.tflite.converters.context import Context, axis_of
from frontends.tflite.converters.registry import data_converter
from frontends.tflite.options import MirrorPadOptions
from qnn_ops.errors import QnnError


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
