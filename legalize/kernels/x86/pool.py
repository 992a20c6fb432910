"""Pooling of NHWC images of bytes by AVX512BW, up to 256 channels of a pixel at a time.

Averages are of unsigned bytes, int8 ones moved by 128. The sum of n of them is below 2^15 for
n <= 127, so 16-bit lanes hold it. With h = n // 2 the average is (sum + h) // n; ties round away
from the origin, so where n is even and the sum is below n times the origin it is
(sum + h − 1) // n. Where ties round to even, one is taken off an odd quotient q with n·q = sum + h.
The division is a product: (a · m >> 16) >> s equals a // n for every a < 257 n, with
m = ceil(2^(16 + s) / n) and s so large that m has 16 bits.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt
from tvm import tirx
from tvm.script.ir_builder import IRBuilder
from tvm.script.ir_builder import tirx as T

from legalize.kernels.rows import BYTES, pieces, unsigned
from legalize.kernels.tasks import shared_loop, task_count

MAX_TAPS = 127
LEAST_CHANNELS = 4
"""Channels must be a multiple of it, or fill a vector."""

_CHUNKS = 4
# Of the table that averages take: what each number of pixels needs.
_COLUMNS = 5
# Roughly what one thread reads.
_TAPS_PER_MICROSECOND = 40_000


@dataclass(frozen=True)
class PoolSpec:
    """One pooling.

    Attributes:
        in_shape: [N, H, W, C].
        out_shape: [N, H, W, C].
        dtype: int8 or uint8.
        pool_type: ``max`` or ``avg``.
        window: Height and width in pixels.
        strides: Down and across.
        padding: At the top and at the left, in pixels.
        bounds: The lowest and highest output.
        origin: The value from which an average's ties round away, or beside which they round to
            even.
        rounding: ``half_away`` or ``half_even``.
        count_include_pad: Whether padding counts as pixels that hold the origin.
    """

    in_shape: tuple[int, int, int, int]
    out_shape: tuple[int, int, int, int]
    dtype: str
    pool_type: str
    window: tuple[int, int]
    strides: tuple[int, int]
    padding: tuple[int, int]
    bounds: tuple[int, int]
    origin: int
    rounding: str = "half_away"
    count_include_pad: bool = False


def divisors(most_taps: int) -> npt.NDArray[np.uint16]:
    """What averages of n values need.

    Returns:
        uint16 [most_taps + 1, 5]: for each n from 2 on m, s, n // 2, whether n is even, and n
        itself (TVM would split a cast of its own bounds into unsigned terms, one negative).
    """
    rows = np.zeros((most_taps + 1, _COLUMNS), np.uint16)
    for taps in range(2, most_taps + 1):
        shift = (taps - 1).bit_length() - 1
        multiplier = -(-(1 << (16 + shift)) // taps)
        rows[taps] = multiplier, shift, taps // 2, taps % 2 == 0, taps
    return rows


@cache
def pool(spec: PoolSpec) -> tirx.PrimFunc:
    """Build the function that pools images.

    Needs a target with ``avx512bw``. Every window of an average covers at least two pixels.

    Returns:
        A function of the data; for averages ``divisors`` of the window's size; and the output.
    """
    return _Kernel(spec).build()


class _Kernel:
    """The buffers of one function, and what writes its loops."""

    def __init__(self, spec: PoolSpec) -> None:
        self.spec = spec
        self.is_average = spec.pool_type == "avg"
        offset = 128 if spec.dtype == "int8" else 0
        self.flip = offset
        self.origin = spec.origin + offset
        self.low, self.high = (bound + offset for bound in spec.bounds)

    def build(self) -> tirx.PrimFunc:
        spec = self.spec
        with IRBuilder() as builder, T.prim_func(s_tir=True):
            T.func_name("pool")
            T.func_attr({"global_symbol": "pool", "tirx.noalias": True})
            data = T.arg("data", T.buffer(spec.in_shape, spec.dtype))
            if self.is_average:
                size = (prod(spec.window) + 1, _COLUMNS)
                self.divisors = T.arg("divisors", T.buffer(size, "uint16"))
            output = T.arg("output", T.buffer(spec.out_shape, spec.dtype))
            self.source = T.decl_buffer((prod(spec.in_shape),), spec.dtype, data=data.data)
            self.target = T.decl_buffer((prod(spec.out_shape),), "uint8", data=output.data)
            rows = spec.out_shape[0] * spec.out_shape[1]
            work = prod(spec.out_shape) * prod(spec.window)
            shared_loop(task_count(work / _TAPS_PER_MICROSECOND), rows, self._row)
        return builder.get()

    def _row(self, row: Any) -> None:
        """Write the computation of one row of output pixels."""
        spec = self.spec
        _, height, width, channels = spec.in_shape
        _, out_height, out_width, _ = spec.out_shape
        image, y = T.truncdiv(row, out_height), T.truncmod(row, out_height)
        top, down = self._along(y, 0, height)
        with T.serial(out_width) as x:
            left, across = self._along(x, 1, width)
            first = ((image * height + top) * width + left) * channels
            place = (row * out_width + x) * channels
            whole, parts = pieces(channels)
            groups, rest = divmod(whole, _CHUNKS)
            if groups:
                with T.serial(groups) as group:
                    offset = group * (_CHUNKS * BYTES)
                    chunks = [(i * BYTES, BYTES) for i in range(_CHUNKS)]
                    self._chunks(first + offset, place + offset, chunks, down, across)
            start = groups * _CHUNKS * BYTES
            chunks = [(start + i * BYTES, BYTES) for i in range(rest)] + parts
            if chunks:
                self._chunks(first, place, chunks, down, across)

    def _along(self, position: Any, axis: int, size: int) -> tuple[Any, Any]:
        """First pixel of a window along an axis, and how many pixels it covers."""
        spec = self.spec
        window, padding = spec.window[axis], spec.padding[axis]
        start = position * spec.strides[axis] - padding
        reach = (spec.out_shape[1 + axis] - 1) * spec.strides[axis] - padding + window
        if padding == 0 and reach <= size:
            return start, T.int32(window)
        first = T.max(start, T.int32(0))
        return first, T.min(start + window, T.int32(size)) - first

    def _chunks(
        self, first: Any, place: Any, chunks: list[tuple[int, int]], down: Any, across: Any
    ) -> None:
        """Write the pooling of some channels of one window."""
        _, _, width, channels = self.spec.in_shape
        dtype = "uint16" if self.is_average else "uint8"
        sums = [T.alloc_buffer((size,), dtype, scope="global") for _, size in chunks]
        for (_, size), buffer in zip(chunks, sums, strict=True):
            T.buffer_store(buffer, _splat(dtype, 0, size), [T.ramp(0, 1, size)])
        with T.serial(down) as ky, T.serial(across) as kx:
            pixel = first + (ky * width + kx) * channels
            for (offset, size), buffer in zip(chunks, sums, strict=True):
                value = unsigned(self.source[T.ramp(pixel + offset, 1, size)], size)
                if self.flip:
                    value = T.bitwise_xor(value, _splat("uint8", 128, size))
                lanes = T.ramp(0, 1, size)
                if self.is_average:
                    value = buffer[lanes] + T.Cast(f"uint16x{size}", value)
                else:
                    value = T.max(buffer[lanes], value)
                T.buffer_store(buffer, value, [lanes])
        for (offset, size), buffer in zip(chunks, sums, strict=True):
            value = buffer[T.ramp(0, 1, size)]
            if self.is_average:
                value = self._average(*self._padded(value, down * across, size), size)
            value = self._clamp(value, size)
            if self.flip:
                value = T.bitwise_xor(value, _splat("uint8", 128, size))
            T.buffer_store(self.target, value, [T.ramp(place + offset, 1, size)])

    def _padded(self, total: Any, taps: Any, size: int) -> tuple[Any, Any]:
        """The sum and number of pixels with what padding counts for."""
        if not self.spec.count_include_pad:
            return total, taps
        window = T.int32(prod(self.spec.window))
        if self.origin:
            missing = T.Cast("uint16", (window - taps) * self.origin)
            total = total + T.broadcast(missing, size)
        return total, window

    def _average(self, total: Any, taps: Any, size: int) -> Any:
        multiplier, shift, half, is_even, pixels = (
            T.broadcast(self.divisors[taps, column], size) for column in range(_COLUMNS)
        )
        rounded = total + half
        if self.spec.rounding == "half_even":
            quotient = self._divide(rounded, multiplier, shift, size)
            is_tie = T.Cast(f"uint16x{size}", quotient * pixels == rounded)
            is_odd = T.bitwise_xor(quotient, _splat("uint16", self.origin & 1, size))
            odd_tie = T.bitwise_and(T.bitwise_and(is_tie, is_even), is_odd)
            return T.Cast(f"uint8x{size}", quotient - odd_tie)
        if self.origin:
            limit = pixels * _splat("uint16", self.origin, size)
            is_below = T.Cast(f"uint16x{size}", total < limit)
            rounded = rounded - T.bitwise_and(is_below, is_even)
        return T.Cast(f"uint8x{size}", self._divide(rounded, multiplier, shift, size))

    def _divide(self, dividend: Any, multiplier: Any, shift: Any, size: int) -> Any:
        wide = f"uint32x{size}"
        product = T.Cast(wide, dividend) * T.Cast(wide, multiplier)
        upper = T.Cast(f"uint16x{size}", T.shift_right(product, _splat("uint32", 16, size)))
        return T.shift_right(upper, shift)

    def _clamp(self, value: Any, size: int) -> Any:
        if self.low > 0:
            value = T.max(value, _splat("uint8", self.low, size))
        if self.high < 255:
            value = T.min(value, _splat("uint8", self.high, size))
        return value


def _splat(dtype: str, value: int, size: int) -> Any:
    return T.broadcast(getattr(T, dtype)(value), size)
