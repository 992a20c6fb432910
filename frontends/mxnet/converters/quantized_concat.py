"""_contrib_quantized_concat."""

from __future__ import annotations

from functools import reduce

import numpy as np
from tvm import relax

from frontends.mxnet.converters.context import Context
from frontends.mxnet.converters.quantization import Range, check_quantized, range_at, rescaled
from frontends.mxnet.converters.registry import converter
from frontends.mxnet.scalars import divide, maximum, minimum, scalar
from frontends.mxnet.values import Value
from qnn_ops import quantized_concat
from qnn_ops.errors import QnnError


@converter("_contrib_quantized_concat")
def convert_quantized_concat(ctx: Context) -> list[Value]:
    """Join tensors, each expressed in the range that covers all of them.

    The result is int8 if one of them is. Tensors that have its scale are copied.
    """
    count = ctx.attrs.integer("num_args")
    if count < 1 or ctx.arity != 3 * count:
        raise QnnError(f"needs {3 * max(count, 1)} inputs, has {ctx.arity}")
    dtypes = [check_quantized(ctx, position) for position in range(count)]
    ranges = [range_at(ctx, count + 2 * number) for number in range(count)]
    dtype = "int8" if "int8" in dtypes else "uint8"
    covering = Range(
        reduce(minimum, [bounds.low for bounds in ranges], scalar(0)),
        reduce(maximum, [bounds.high for bounds in ranges], scalar(0)),
    )
    parts = [_in_range(ctx, number, ranges[number], covering, dtype) for number in range(count)]
    axis = ctx.attrs.integer("dim", 1)
    # All of them have one scale by now, whichever it is.
    joined = quantized_concat(parts, [1.0] * count, [0] * count, 1.0, 0, dtype, axis=axis)
    return [joined, covering.low, covering.high]


def _in_range(
    ctx: Context, position: int, bounds: Range, covering: Range, dtype: str
) -> relax.Expr:
    data = ctx.expr(position)
    own = bounds.steps_per_unit(ctx.dtype(position))
    wanted = covering.steps_per_unit(dtype)
    if isinstance(own, np.ndarray) and isinstance(wanted, np.ndarray) and own == wanted:
        return data
    # Where ranges are known at run time only: a factor of one copies.
    return ctx.emit(rescaled(data, divide(wanted, own), dtype))
