"""Units of one channel each, in vectors of channels."""

from collections.abc import Sequence

from tvm.script.ir_builder import tirx as T

from legalize.kernels.float_conv2d.loops import Loops, Taps
from legalize.kernels.float_conv2d.tiling import depthwise_lanes
from legalize.kernels.ir.sums import add_parts, zeros
from legalize.kernels.ir.tasks import loop_between, shared_loop
from legalize.kernels.ir.vectors import (
    Buffer,
    Index,
    kept,
    unsigned_min,
)
from qnn_ops.unquantized.float_conv2d import runs_of

_MOST_STEPS = 54
"""The most products of a depthwise convolution's tile that are unrolled."""
_MOST_COLUMNS = 7
"""The most columns of a depthwise convolution's window that are unrolled."""


class Depthwise(Loops):
    """Units of one channel each, in vectors of channels; the last one overlaps the one before."""

    def write(self) -> None:
        """Write rows of pixels, and for each vector of channels the tiles."""
        spec, axis = self.spec, self.spec.columns
        lanes = depthwise_lanes(self.isa, spec.channels)

        def turn(row: Index) -> None:
            row = kept(row)
            with T.serial(-(-spec.channels // lanes)) as vector:
                channel = unsigned_min(vector * lanes, spec.channels - lanes)

                def tile(column: Index, pixels: int, taps: Taps, start: Index) -> None:
                    (sums,) = zeros(1, pixels, lanes)
                    begin = start + (column * axis.stride - axis.before) * spec.channels
                    self._multiply(sums, kept(begin + channel), channel, taps)
                    pixel = kept(row * axis.count + column)
                    for number, total in enumerate(sums):
                        self.store(total, pixel + number, channel, lanes)

                self.write_row(row, self._most, tile)

        shared_loop(self.tasks, spec.batch * spec.rows.count, turn)

    @property
    def _most(self) -> int:
        """Pixels of a tile, whose sums and data are in registers."""
        return self.isa.registers * 3 // 8

    def _multiply(self, sums: list[Buffer], start: Index, channel: Index, taps: Taps) -> None:
        """Write the loops over a window. Its columns are unrolled, as they share the data."""

        def row(row: Index) -> None:
            for span in taps.along:
                begin, end, pixels = span.begin, span.end, span.pixels
                if isinstance(begin, int) and end - begin <= _MOST_COLUMNS:
                    for tap in range(begin, end):
                        self._step(sums, start, channel, row, T.int32(tap), pixels)
                    continue
                with T.serial(end - begin) as turn:
                    self._step(sums, start, channel, row, begin + turn, pixels)

        loop_between(taps.down.begin, taps.down.end, row)

    def _step(
        self,
        sums: list[Buffer],
        start: Index,
        channel: Index,
        row: Index,
        column: Index,
        pixels: Sequence[int],
    ) -> None:
        """Add one product to each sum of some pixels of a tile."""
        spec, axis = self.spec, self.spec.columns
        lanes = depthwise_lanes(self.isa, spec.channels)
        weight = (row * axis.window + column) * spec.channels + channel
        value = kept(self.buffers["weights"][T.ramp(weight, 1, lanes)])
        pixel = row * (spec.rows.dilation * axis.size) + column * axis.dilation
        place = kept(start + pixel * spec.channels)
        for number in pixels:
            own = place + number * axis.stride * spec.channels
            data = self.buffers["data"][T.ramp(own, 1, lanes)]
            self.add(sums[number], data, value, lanes)


class InRuns(Depthwise):
    """Units of one channel each, in an order of ONNX Runtime, with runs of the window unrolled."""

    @property
    def _most(self) -> int:
        return max(2, _MOST_STEPS // self.spec.depth)

    def _multiply(self, sums: list[Buffer], start: Index, channel: Index, taps: Taps) -> None:
        """Write the products; the products of a run are added up separately."""
        if self.spec.is_fused:
            super()._multiply(sums, start, channel, taps)
            return
        lanes = depthwise_lanes(self.isa, self.spec.channels)
        for begin, count in runs_of(self.spec.depth):
            (parts,) = zeros(1, len(sums), lanes)
            for k in range(begin, begin + count):
                row, column = divmod(k, self.spec.columns.window)
                place = T.int32(row), T.int32(column)
                self._step(parts, start, channel, *place, range(len(sums)))
            add_parts([sums], [parts])
