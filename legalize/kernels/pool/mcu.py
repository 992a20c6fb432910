"""Averages of windows on microcontrollers, a few channels at a time, with sums in registers.

Cores that multiply pairs add bytes to pairs of 16 bits; Helium adds them to eight lanes.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from tvm import tirx
from tvm.script.ir_builder import tirx as T

from legalize.kernels.call import call_written
from legalize.kernels.ir.rows import ramp
from legalize.kernels.ir.vectors import Buffer, Index, Vector, kept, splat, vector_of
from legalize.kernels.isa.helium import EIGHT, HELIUM
from legalize.kernels.isa.mcu import CORES, PAIRS, RISCV32, WORD, add_bytes, word_of
from legalize.kernels.kernel import Builder, Lowered, Operands, Row
from legalize.kernels.pool.spec import PoolSpec, pool_spec
from legalize.written import arguments, new_function
from qnn_ops import quantized_pool2d
from qnn_ops.dialect.registry import Attrs, spec_of
from qnn_ops.quantized.pool2d import window_counts

_BYTES = ("int8", "uint8")
_MOST_TAPS = 255  # their sums fit 16 bits

_HALF = 16


@dataclass(frozen=True)
class Lanes:
    """Channels that are summed at a time.

    Attributes:
        count: the number of channels, which divides the number of all channels.
        most_taps: the most taps of a window; None for any.
    """

    count: int
    most_taps: int | None = None


ONE = Lanes(1)
PAIRED = Lanes(WORD, _MOST_TAPS)
VECTOR = Lanes(EIGHT, _MOST_TAPS)


def average(spec: PoolSpec, lanes: Lanes) -> tirx.PrimFunc:
    """Build the function that averages the windows of images.

    Args:
        spec: the pooling, whose ties round away from the origin.
        lanes: channels at a time.
    """
    with new_function("average") as builder:
        data = spec.in_shape, spec.dtype
        buffers = arguments(data=data, output=(spec.out_shape, spec.dtype))
        _Writer(spec, lanes, *buffers).write()
    return builder.get()


class _Writer:
    def __init__(self, spec: PoolSpec, lanes: Lanes, data: Buffer, output: Buffer) -> None:
        self.spec, self.lanes, self.data, self.output = spec, lanes.count, data, output
        self.is_paired = lanes is PAIRED

    def write(self) -> None:
        spec = self.spec
        images, height, width, channels = spec.out_shape
        with T.serial(images) as image, T.serial(height) as y:
            top, rows = spec.span(y, 0, spec.in_shape[1])
            with T.serial(width) as x:
                left, columns = spec.span(x, 1, spec.in_shape[2])
                corner = (image * spec.in_shape[1] + top) * spec.in_shape[2] + left
                corner, pixel = kept(corner), kept((image * height + y) * width + x)
                taps = T.int32(rows * columns)
                with T.serial(channels // self.lanes) as group:
                    first = kept(group * self.lanes)
                    add = self._sums()
                    with T.serial(rows) as n, T.serial(columns) as m:
                        add((corner + n * spec.in_shape[2] + m) * channels + first)
                    self._finish(taps, pixel * channels + first)

    def _sums(self) -> Callable[[Index], None]:
        """Allocate sums of zero; return the function that adds the channels at an offset."""
        dtype = self.spec.dtype
        if self.is_paired:
            self.sums = T.alloc_buffer((2,), "int32", scope="global")
            for half in range(2):
                T.buffer_store(self.sums, T.int32(0), [half])
            return self._add_word
        kind = "int32" if self.lanes == 1 else dtype.replace("8", "16")
        self.sums = T.alloc_buffer((self.lanes,), kind, scope="global")
        everything = ramp(0, self.lanes)
        T.buffer_store(self.sums, splat(kind, 0, self.lanes), [everything])

        def add(place: Index) -> None:
            values = T.Cast(vector_of(kind, self.lanes), self.data[ramp(place, self.lanes)])
            T.buffer_store(self.sums, self.sums[everything] + values, [everything])

        return add

    def _add_word(self, place: Index) -> None:
        word = word_of(self.data, place)
        for half in range(2):
            total = add_bytes(self.sums[half], word, half, self.spec.dtype)
            T.buffer_store(self.sums, total, [half])

    def _finish(self, taps: Index, to: Index) -> None:
        lanes = 1 if self.is_paired else min(self.lanes, WORD)
        for first in range(0, self.lanes, lanes):
            total = kept(self._total(first, lanes))
            value = self._quotient(total, T.broadcast(taps, lanes) if lanes > 1 else taps, lanes)
            value = T.Cast(vector_of(self.spec.dtype, lanes), value)
            T.buffer_store(self.output, value, [ramp(to + first, lanes)])

    def _total(self, first: int, lanes: int) -> Vector:
        if not self.is_paired:
            return T.Cast(vector_of("int32", lanes), self.sums[ramp(first, lanes)])
        both, dtype = self.sums[first % 2], self.spec.dtype.replace("8", "16")
        if first >= 2:
            both = T.shift_right(both, T.int32(_HALF))
        return T.Cast("int32", T.Cast(dtype, both))

    def _quotient(self, total: Vector, taps: Vector, lanes: int) -> Vector:
        """Divide sums by the number of their values, rounding halves away from the origin."""
        spec = self.spec

        def constant(value: int) -> Vector:
            return splat("int32", value, lanes)

        if spec.origin:
            total = kept(total - taps * constant(spec.origin))
        half = kept(T.truncdiv(taps, constant(2)))
        half = T.Select(total < constant(0), constant(0) - half, half)
        value = T.truncdiv(total + half, taps) + constant(spec.origin)
        low, high = (constant(bound) for bound in spec.bounds)
        return T.max(T.min(kept(value), high), low)


def _average(builder: Builder, attrs: Attrs, operands: Operands, *, lanes: Lanes) -> Lowered:
    data = spec_of(operands[0])
    if attrs.pool_type != "avg" or attrs.layout != "NHWC" or data.dtype not in _BYTES:
        return None
    if attrs.rounding != "half_away" or attrs.count_include_pad:
        return None
    batch, height, width, channels = data.shape
    taps = window_counts(attrs, (height, width))
    out_shape = batch, *taps.shape, channels
    if 0 in out_shape:
        return None
    if channels % lanes.count or (lanes.most_taps and taps.max() > lanes.most_taps):
        lanes = ONE
    function = average(pool_spec(attrs, data, out_shape), lanes)
    return call_written(builder, function, operands)


ROWS: list[Row] = [
    (quantized_pool2d, features, partial(_average, lanes=lanes))
    for features, lanes in ((HELIUM, VECTOR), (PAIRS, PAIRED), (CORES, ONE), (RISCV32, ONE))
]
