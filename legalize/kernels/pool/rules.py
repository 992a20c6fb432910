"""Rules for pooling."""

from math import prod

import numpy as np
from tvm import relax

from legalize.kernels.call import call_tir, call_written, shares_code
from legalize.kernels.isa.base import VectorIsa
from legalize.kernels.isa.x86_vectors import X86Vectors
from legalize.kernels.kernel import Builder, Lowered, Operands
from legalize.kernels.mean import Division, MeanSpec, mean
from legalize.kernels.pool.kernel import LEAST_CHANNELS, pool
from legalize.kernels.pool.spec import MAX_TAPS, Sizes, divisors, pool_spec
from qnn_ops import quantized_pool2d
from qnn_ops.dialect.attributes import bounds
from qnn_ops.dialect.registry import Attrs, spec_of
from qnn_ops.quantized.pool2d import window_counts


def _pool(builder: Builder, attrs: Attrs, operands: Operands, *, isa: VectorIsa) -> Lowered:
    data = spec_of(operands[0])
    batch, height, width, channels = data.shape
    if attrs.layout != "NHWC":
        return None
    taps = window_counts(attrs, (height, width))
    out_shape = batch, *taps.shape, channels
    if 0 in out_shape:
        return None
    is_average = attrs.pool_type == "avg"
    is_whole = taps.shape == (1, 1) and int(taps[0, 0]) == height * width
    if is_average and is_whole and attrs.rounding == "half_away" and taps[0, 0] > MAX_TAPS:
        axes = batch, height * width, channels
        finish = Division(attrs.origin, bounds(attrs, data.dtype))
        whole = MeanSpec(data.shape, out_shape, axes, data.dtype, data.dtype, finish)
        return call_written(builder, mean(isa, whole), operands[:1])
    if is_average and not 2 <= taps.min() <= taps.max() <= MAX_TAPS:
        return None
    if channels < isa.size and channels % LEAST_CHANNELS:
        return None
    spec = pool_spec(attrs, data, out_shape)
    constants = (
        [relax.const(divisors(prod(attrs.pool_size)).ravel(), "uint16")] if is_average else []
    )
    # Only x86-64 has registers for sizes that are read. Pixels of less than a vector need code for
    # their own number of channels.
    is_x86 = isinstance(isa, X86Vectors)
    is_shared = is_x86 and channels >= isa.size and shares_code(builder, operands[0])
    function = pool(isa, spec, is_shared=is_shared)
    if is_shared:
        constants.append(relax.const(np.array(Sizes.known(spec), np.int32), "int32"))
    name, operands = str(function.attrs["global_symbol"]), [operands[0], *constants]
    return call_tir(builder, name, function, operands, out_shape, data.dtype)


RULES = ((quantized_pool2d, _pool),)
