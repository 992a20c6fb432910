"""Rules for resizing."""

import numpy as np

from legalize.kernels.call import call_tir
from legalize.kernels.ir.vectors import Array
from legalize.kernels.isa.base import VectorIsa
from legalize.kernels.kernel import Builder, Lowered, Operands
from legalize.kernels.resize.kernel import ResizeSpec, bilinear, nearest
from qnn_ops import quantized_resize2d
from qnn_ops.dialect.registry import Attrs, as_const, spec_of
from qnn_ops.quantized.resize2d import FRACTION_BITS, Taps, pixels_of, taps_of


def _resize(builder: Builder, attrs: Attrs, operands: Operands, *, isa: VectorIsa) -> Lowered:
    data = spec_of(operands[0])
    if attrs.layout != "NHWC" or 0 in data.shape:
        return None
    batch, height, width, channels = data.shape
    in_shape = batch, height, width, channels
    out_shape = batch, *attrs.size, channels
    if attrs.method == "nearest_neighbor":
        tables = [pixels.astype(np.int32) for pixels in pixels_of(attrs, (height, width))]
        keeps_rows = np.array_equal(tables[1], np.arange(width))
        function = nearest(ResizeSpec(in_shape, out_shape, data.dtype, keeps_rows))
    else:
        if channels < isa.size // 2:
            return None
        taps = taps_of(attrs, (height, width), data.dtype)
        tables = [table for along in taps for table in _tables(along, data.dtype)]
        function = bilinear(isa, ResizeSpec(in_shape, out_shape, data.dtype))
    constants = [as_const(table) for table in tables]
    name = "nearest" if attrs.method == "nearest_neighbor" else "bilinear"
    return call_tir(builder, name, function, [operands[0], *constants], out_shape, data.dtype)


def _tables(taps: Taps, dtype: str) -> list[Array]:
    """Return the two source pixels of each output pixel, and their weights."""
    pixels = np.stack([taps.lower, taps.upper]).astype(np.int32)
    if dtype == "uint8":
        return [pixels, np.stack([np.float32(1) - taps.distance, taps.distance])]
    one = 1 << FRACTION_BITS
    return [pixels, np.stack([one - taps.distance, taps.distance]).astype(np.int32)]


RULES = ((quantized_resize2d, _resize),)
