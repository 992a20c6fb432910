"""ring_buffer and _contrib_quantized_ring_buffer: the newest slices of a stream.

These operators are not in MXNet itself; models for streams, which TVM's former importer read, have
them. The buffer is an input or a parameter of the model: whoever runs it feeds each result back.
"""

from __future__ import annotations

import numpy as np
from tvm import relax
from tvm.relax import op as R

from frontends.mxnet.converters.context import Context
from frontends.mxnet.converters.quantization import check_quantized, range_at
from frontends.mxnet.converters.registry import converter
from frontends.mxnet.values import Value
from qnn_ops.errors import QnnError


@converter("ring_buffer")
def convert_ring_buffer(ctx: Context) -> relax.Expr:
    """Append the data to the buffer, and drop what is oldest."""
    return _append(ctx, ctx.expr(1))


@converter("_contrib_quantized_ring_buffer")
def convert_quantized_ring_buffer(ctx: Context) -> list[Value]:
    """Return the same of quantized data; the range stays what it was.

    A buffer that the file has in floats is that of the model before it was quantized: it starts
    with zeros.
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
        raise QnnError(f"the buffer must have shape {shape} but for axis {axis}, got {buffered}")
    joined = ctx.emit(R.concat([buffer, ctx.expr(0)], axis))
    size = shape[axis]
    return R.strided_slice(joined, [axis], [size], [size + buffered[axis]])
