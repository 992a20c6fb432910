"""Which poolings of the dialect the kernel serves."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from tvm import relax

from legalize.kernels.calls import call_tir
from legalize.kernels.vector.isa import VectorIsa
from legalize.kernels.vector.pool import LEAST_CHANNELS, MAX_TAPS, PoolSpec, divisors, pool
from legalize.kernels.vector.registry import vector_kernel
from qnn_ops import quantized_pool2d
from qnn_ops.quantized_pool2d import bounds, origin_of, rounding_of, window_counts
from qnn_ops.registry import Attrs, spec_of


@vector_kernel(quantized_pool2d)
def _pool(
    builder: relax.BlockBuilder,
    attrs: Attrs,
    operands: Sequence[relax.Expr],
    *,
    isa: VectorIsa,
) -> relax.Expr | None:
    data = spec_of(operands[0])
    batch, height, width, channels = data.shape
    if attrs.layout != "NHWC" or (channels < isa.size and channels % LEAST_CHANNELS):
        return None
    taps = window_counts(attrs, (height, width))
    is_average = attrs.pool_type == "avg"
    if is_average and not 2 <= taps.min() <= taps.max() <= MAX_TAPS:
        return None
    out_shape = batch, *taps.shape, channels
    if 0 in out_shape:
        return None
    spec = PoolSpec(
        in_shape=(batch, height, width, channels),
        out_shape=out_shape,
        dtype=data.dtype,
        pool_type=attrs.pool_type,
        window=attrs.pool_size,
        strides=attrs.strides,
        padding=attrs.padding[:2],
        bounds=bounds(attrs, data.dtype),
        origin=origin_of(attrs),
        rounding=rounding_of(attrs),
        count_include_pad=getattr(attrs, "count_include_pad", False),
    )
    constants = [relax.const(divisors(prod(attrs.pool_size)), "uint16")] if is_average else []
    operands = [operands[0], *constants]
    return call_tir(builder, "pool", pool(isa, spec), operands, out_shape, data.dtype)
