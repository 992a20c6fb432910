"""Pooling of NHWC images of bytes, up to four vectors of a pixel's channels at a time.

Averages are computed on unsigned bytes; int8 is moved by 128. The sum of n of them is below 2^15
for n <= 127, so 16-bit lanes hold it. If widening takes an instruction of its own, words of two
bytes are added, modulo 2^16, and so are their upper bytes. The sum of the words less that of the
upper bytes is the sum of the lower bytes.

With h = n // 2 the average is (sum + h) // n. Ties round away from the origin, so it is
(sum + h − 1) // n if n is even and the sum is below n times the origin. If ties round to even, an
odd quotient q with n·q = sum + h is reduced by one. The division is a product; see spec.py.
"""

from collections.abc import Callable, Hashable
from contextlib import nullcontext
from dataclasses import replace
from functools import cache, reduce
from itertools import chain, pairwise
from math import prod

import numpy as np
from tvm import tirx
from tvm.script.ir_builder import tirx as T

from legalize.kernels.call import with_code
from legalize.kernels.ir.places import address, with_addresses
from legalize.kernels.ir.rows import pieces
from legalize.kernels.ir.tables import Tables
from legalize.kernels.ir.tasks import shared_loop
from legalize.kernels.ir.vectors import (
    Index,
    Sums,
    Vector,
    as_unsigned,
    clamped,
    flipped,
    get_lanes,
    kept,
    set_lanes,
    splat,
    unsigned_min,
)
from legalize.kernels.isa.base import VectorIsa
from legalize.kernels.pool.spec import COLUMNS, PoolSpec, Sizes, divisors, rounded_factor
from legalize.written import flat, new_function

LEAST_CHANNELS = 4
"""Channels must be a multiple of this, or fill a vector."""

Chunks = list[tuple[int, int]]
"""Parts of a pixel's channels: the offset and the number of each."""

_CHUNKS = 4
# The width of sliding windows, and the vectors whose columns they keep.
_SLIDING, _SLIDING_CHUNKS = 3, 2
# The most taps in a row or column of a window that are unrolled.
_MOST_TAPS = 8
_SHARED: dict[Hashable, tirx.PrimFunc] = {}  # by form


@cache
def pool(isa: VectorIsa, spec: PoolSpec, *, is_shared: bool = False) -> tirx.PrimFunc:
    """Build the function that pools images.

    Every window of an average covers at least two pixels.

    Args:
        isa: the instruction set.
        spec: the pooling.
        is_shared: whether the function may serve poolings of other sizes, too.

    Returns:
        A function of the data; for averages ``divisors`` of the window's size, row by row;
        ``Sizes`` if it is shared; and the output.
    """
    kernel = _Kernel(isa, spec, is_shared)
    if not is_shared:
        return kernel.build()
    if (form := kernel.form) not in _SHARED:
        _SHARED[form] = with_code(kernel.build())
    return _SHARED[form]


class _Kernel:
    """The buffers of one function, and the writer of its loops."""

    def __init__(self, isa: VectorIsa, spec: PoolSpec, is_shared: bool) -> None:
        self.isa = isa
        self.is_shared = is_shared
        self.known = self.sizes = Sizes.known(spec)
        self.size = isa.size
        self.spec = spec
        self.is_average = spec.pool_type == "avg"
        self.slides = spec.strides[1] == 1 and spec.window[1] == _SLIDING
        self.offset = 128 if spec.dtype == "int8" else 0
        self.origin = spec.origin + self.offset
        self.low, self.high = (bound + self.offset for bound in spec.bounds)
        self.adds_words = self.is_average and not isa.adds_bytes_to_words

    @property
    def form(self) -> Hashable:
        """The facts on which the code depends if it reads the sizes."""
        spec, known = self.spec, self.known
        return (
            replace(spec, in_shape=(spec.in_shape[0], 0, 0, 0), out_shape=(0, 0, 0, 0)),
            *(self.isa, self._vectors(), spec.is_inside(0), spec.is_inside(1), known.tasks == 1),
            *(known.first < known.last, known.first == 0, known.last == known.out_width),
        )

    def build(self) -> tirx.PrimFunc:
        spec = self.spec
        with new_function("pool") as builder:
            tables = Tables()
            shared = self.is_shared
            data = tables.parameter("data", spec.in_shape, spec.dtype, is_any=shared)
            if self.is_average:
                size = (prod(spec.window) + 1) * COLUMNS
                self.divisors = T.arg("divisors", T.buffer((size,), "uint16"))
            if shared:
                sizes = tables.parameter("sizes", (len(self.sizes),), "int32")
            output = tables.parameter("output", spec.out_shape, spec.dtype, is_any=shared)
            tables.flatten()
            self.source, self.target = data.row, flat(output.row, "uint8")
            if shared:
                self.sizes = Sizes.read(sizes)
            tasks = self.sizes.tasks if self.known.tasks != 1 else 1
            with with_addresses() if shared else nullcontext():
                shared_loop(tasks, spec.in_shape[0] * self.sizes.out_height, self._row)
        return builder.get()

    def _row(self, row: Index) -> None:
        """Write the computation of one row of output pixels."""
        sizes, known = self.sizes, self.known
        row = kept(row)
        image, y = T.truncdiv(row, sizes.out_height), kept(T.truncmod(row, sizes.out_height))
        top, down = self.spec.span(y, 0, sizes.height)
        line = kept((image * sizes.height + top) * sizes.width)
        if known.first < known.last:
            self._windows_inside(row, line, down)
        if known.first > 0 or known.last < known.out_width:
            with T.serial(sizes.first + sizes.out_width - sizes.last) as number:
                after = T.if_then_else(number < sizes.first, 0, sizes.last - sizes.first)
                self._window(row, line, kept(number + after), down)

    def _windows_inside(self, row: Index, line: Index, down: Index) -> None:
        """Write the windows of a row of outputs that do not reach the padding beside the image."""
        height = self.spec.window[0]
        if isinstance(down, int):
            self._pool_row(row, line, down)
            return
        # Most windows do not reach the padding above or below, either. The code knows their size.
        with T.If(down == height):
            with T.Then():
                self._pool_row(row, line, height)
            with T.Else():
                self._pool_row(row, line, down)

    def _pool_row(self, row: Index, line: Index, down: Index) -> None:
        """Write the windows inside the image, which have ``down`` rows from ``line`` on."""
        spec, sizes = self.spec, self.sizes
        channels, out_width = sizes.channels, sizes.out_width
        if self.slides:
            self._slide(line * channels, row * (out_width * channels), down)
            return
        with T.serial(sizes.last - sizes.first) as turn:
            x = sizes.first + turn
            left = x * spec.strides[1] - spec.padding[1]
            place = (row * out_width + x) * channels
            self._pixel((line + left) * channels, place, down, spec.window[1])

    def _window(self, row: Index, line: Index, x: Index, down: Index) -> None:
        """Write any window of a row of outputs."""
        channels, out_width = self.sizes.channels, self.sizes.out_width
        left, across = self.spec.span(x, 1, self.sizes.width)
        self._pixel((line + left) * channels, (row * out_width + x) * channels, down, across)

    def _pixel(self, first: Index, place: Index, down: Index, across: Index) -> None:
        """Write the pooling of one window."""

        def write(offset: Index, chunks: Chunks) -> None:
            places = self._kept(first + offset), self._kept(place + offset)
            self._chunks(*places, chunks, down, across)

        self._each_stretch(write)

    def _kept(self, place: Index) -> Index:
        """Keep an offset, or a distance of the data, in a register if the code does not know it.

        In code that layers share, this also keeps LLVM from unrolling loops over a window's few
        pixels.
        """
        return address(place) if self.is_shared else kept(place)

    def _each_stretch(self, write: Callable[[Index, Chunks], None]) -> None:
        """Write a loop over a pixel's channels, some vectors at a time.

        The last iteration may overlap the one before.
        """
        channels = self.sizes.channels
        whole, parts = pieces(self.known.channels, self.size)
        if not whole:
            write(0, parts)
            return

        count = self._vectors()
        width = count * self.size
        chunks = [(i * self.size, self.size) for i in range(count)]
        with T.serial(T.truncdiv(channels + (width - 1), width)) as turn:
            write(kept(unsigned_min(turn * width, channels - width)), chunks)

    def _vectors(self) -> int:
        """Return how many vectors at a time make the fewest vectors in all."""
        channels, most = self.known.channels, _SLIDING_CHUNKS if self.slides else _CHUNKS
        counts = range(min(most, channels // self.size), 0, -1)
        return min(counts, key=lambda each: each * -(-channels // (each * self.size)))

    def _slide(self, line: Index, place: Index, down: Index) -> None:
        """Write windows of a row that advance by one column.

        Each column is pooled once, and stays in registers for the windows that share it.
        """
        self._each_stretch(
            lambda offset, chunks: self._slide_chunks(
                self._kept(line + offset), self._kept(place + offset), chunks, down
            )
        )

    def _slide_chunks(self, line: Index, place: Index, chunks: Chunks, down: Index) -> None:
        channels, padding = self._kept(self.sizes.channels), self.spec.padding[1]
        columns = [self._accumulators(chunks) for _ in range(_SLIDING)]
        first, last = self.sizes.first, self.sizes.last
        for number, column in enumerate(columns[:-1]):
            before = line + (first - padding + number) * channels
            self._pool_column(column, before, chunks, down)
        with T.serial(last - first) as turn:
            x = first + turn
            self._clear(columns[-1])
            latest = line + (x + (_SLIDING - 1 - padding)) * channels
            self._pool_column(columns[-1], latest, chunks, down)
            for number, chunk in enumerate(chunks):
                parts = zip(*(map(get_lanes, column[number]) for column in columns), strict=True)
                totals = [reduce(self._combine, part) for part in parts]
                self._finish(totals, place + x * channels, chunk, down * _SLIDING)
            for older, newer in pairwise(columns):
                for buffer, source in zip(chain(*older), chain(*newer), strict=True):
                    set_lanes(buffer, get_lanes(source))

    def _pool_column(self, results: Sums, first: Index, chunks: Chunks, down: Index) -> None:
        """Write the pooling of a column of a window into cleared accumulators."""
        height = self.spec.window[0]
        pitch = self._kept(self.sizes.width * self.sizes.channels)
        if isinstance(down, int) and height <= _MOST_TAPS:
            self._take(results, first, chunks, height, pitch)
            return
        with T.serial(down) as ky:
            self._take(results, self._kept(first + ky * pitch), chunks, 1, 0)

    def _chunks(
        self, first: Index, place: Index, chunks: Chunks, down: Index, across: Index
    ) -> None:
        """Write the pooling of some channels of one window."""
        channels = self._kept(self.sizes.channels)
        pitch = self._kept(self.sizes.width * self.sizes.channels)
        results = self._accumulators(chunks)
        with T.serial(down) as ky:
            line = self._kept(first + ky * pitch)
            if isinstance(across, int) and across <= _MOST_TAPS:
                self._take(results, line, chunks, across, channels)
            else:
                with T.serial(across) as kx:
                    self._take(results, self._kept(line + kx * channels), chunks, 1, 0)
        for chunk, buffers in zip(chunks, results, strict=True):
            self._finish([*map(get_lanes, buffers)], place, chunk, down * across)

    def _accumulators(self, chunks: Chunks) -> Sums:
        """Clear vectors for sums or maxima: one for each chunk, or two, of words and of bytes."""
        dtype = "uint16" if self.is_average else self.spec.dtype
        parts = 2 if self.adds_words else 1
        results = [
            [T.alloc_buffer((size // parts,), dtype, scope="global") for _ in range(parts)]
            for _, size in chunks
        ]
        self._clear(results)
        return results

    def _clear(self, results: Sums) -> None:
        for buffer in chain(*results):
            least = 0 if self.is_average else int(np.iinfo(buffer.dtype).min)
            set_lanes(buffer, splat(str(buffer.dtype), least, int(buffer.shape[0])))

    def _take(self, results: Sums, first: Index, chunks: Chunks, taps: int, pitch: Index) -> None:
        """Write the code that adds pixels ``pitch`` apart to accumulators."""
        for (offset, size), buffers in zip(chunks, results, strict=True):
            totals = [*map(get_lanes, buffers)]
            for tap in range(taps):
                value = self.source[T.ramp(first + (offset + tap * pitch), 1, size)]
                terms = self._terms(value, size)
                totals = [self._combine(*pair) for pair in zip(totals, terms, strict=True)]
            for buffer, total in zip(buffers, totals, strict=True):
                set_lanes(buffer, total)

    def _terms(self, value: Vector, size: int) -> list[Vector]:
        """Return the terms that bytes add to accumulators."""
        if not self.is_average:
            return [value]
        if not self.adds_words:
            return [T.Cast(f"uint16x{size}", value)]
        words = T.reinterpret(f"uint16x{size // 2}", as_unsigned(value, self.spec.dtype))
        words = kept(words)
        return [words, T.shift_right(words, splat("uint16", 8, size // 2))]

    def _combine(self, total: Vector, value: Vector) -> Vector:
        return total + value if self.is_average else T.max(total, value)

    def _finish(
        self, totals: list[Vector], place: Index, chunk: tuple[int, int], taps: Index
    ) -> None:
        """Write the output of sums or maxima."""
        offset, size = chunk
        if self.is_average:
            value = self._bits(clamped(self._averages(totals, taps, size), self.low, self.high))
        else:
            value = self._clamped_largest(totals[0], size)
        T.buffer_store(self.target, value, [T.ramp(place + offset, 1, size)])

    def _clamped_largest(self, value: Vector, size: int) -> Vector:
        if (self.low, self.high) == (0, 255):
            return T.reinterpret(f"uint8x{size}", value)
        return self._bits(clamped(as_unsigned(value, self.spec.dtype), self.low, self.high))

    def _averages(self, totals: list[Vector], taps: Index, size: int) -> Vector:
        """Return unsigned bytes."""

        def average(total: Vector, lanes: int) -> Vector:
            return self._average(*self._padded(total, taps, lanes), lanes)

        if self.adds_words:
            lanes = size // 2
            eight = splat("uint16", 8, lanes)
            words, upper = map(kept, totals)
            lower = words - T.shift_left(upper, eight)
            upper = T.shift_left(average(upper, lanes), eight)
            return T.reinterpret(f"uint8x{size}", T.bitwise_or(average(lower, lanes), upper))
        total = totals[0]
        if self.offset:
            total = total + self._pixels(taps, size) * splat("uint16", self.offset, size)
        return T.Cast(f"uint8x{size}", average(total, size))

    def _bits(self, value: Vector) -> Vector:
        """Turn bytes that were moved to uint8 into the output's dtype."""
        return flipped(value) if self.offset else value

    def _padded(self, total: Vector, taps: Index, size: int) -> tuple[Vector, Vector]:
        """Return the sum and the number of pixels, including the padding if it counts."""
        if not self.spec.count_include_pad:
            return total, taps
        window = prod(self.spec.window)
        if self.origin:
            missing = splat("uint16", window, size) - self._pixels(taps, size)
            total = total + missing * splat("uint16", self.origin, size)
        return total, window

    def _pixels(self, taps: Index, size: int) -> Vector:
        """Return the number of pixels in each lane."""
        return self._factor(taps, COLUMNS - 1, size)

    def _factor(self, taps: Index, column: int, size: int) -> Vector:
        """Return a column of ``divisors`` for ``taps`` pixels, in each lane."""
        if isinstance(taps, int):
            return splat("uint16", int(divisors(taps)[taps, column]), size)
        return T.broadcast(self.divisors[taps * COLUMNS + column], size)

    def _average(self, total: Vector, taps: Index, size: int) -> Vector:
        """Return averages, uint16."""
        factor = rounded_factor(taps) if self.adds_words and isinstance(taps, int) else None
        if factor is not None:
            return self.isa.rounded_words(total, splat("uint16", factor, size))
        multiplier, shift, half, is_even, pixels = (
            self._factor(taps, column, size) for column in range(COLUMNS)
        )
        rounded = total + half
        if isinstance(taps, int) and taps % 2:  # there are no ties
            return self._divide(rounded, multiplier, shift)
        if self.spec.rounding == "half_even":
            quotient = self._divide(rounded, multiplier, shift)
            is_tie = T.Cast(f"uint16x{size}", quotient * pixels == rounded)
            is_odd = T.bitwise_xor(quotient, splat("uint16", self.origin & 1, size))
            odd_tie = T.bitwise_and(T.bitwise_and(is_tie, is_even), is_odd)
            return quotient - odd_tie
        if self.origin:
            limit = pixels * splat("uint16", self.origin, size)
            is_below = T.Cast(f"uint16x{size}", total < limit)
            rounded = rounded - T.bitwise_and(is_below, is_even)
        return self._divide(rounded, multiplier, shift)

    def _divide(self, dividend: Vector, multiplier: Vector, shift: Vector) -> Vector:
        return T.shift_right(self.isa.upper_words(dividend, multiplier), shift)
