"""Convolution of uint8 data with int8 weights in AMX's tiles.

As ../kernel.py, but the sums of two tiles of pixels × two vectors of channels are taken at once,
and go through memory to be rescaled:

    for each chunk of bytes of each run
      load two tiles of data, two of weights; four products
    store four tiles
    for each pixel                              that is one of the output's
      store(narrow(requantize(sums + bias)))
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tvm.script.ir_builder import tirx as T

from legalize.kernels.conv2d.tiling import Section
from legalize.kernels.conv2d.x86.epilogue.base import Epilogue
from legalize.kernels.conv2d.x86.kernel import ConvKernel
from legalize.kernels.conv2d.x86.tiling import MICROSECONDS
from legalize.kernels.ir.registers import DWORD, local_vector, set_lanes, unsigned_min
from legalize.kernels.ir.tasks import loop_between
from legalize.kernels.ir.types import Index
from legalize.kernels.isa import amx
from legalize.kernels.isa.x86 import AVX512_VNNI

if TYPE_CHECKING:
    from legalize.kernels.conv2d.x86.amx.plan import TilePlan

# Of the eight tiles: sums of pixels × channels, data, weights.
_SUMS, _DATA, _WEIGHTS = ((0, 1), (2, 3)), (4, 5), (6, 7)
_LANES = AVX512_VNNI.lanes


class TileKernel(ConvKernel):
    """The buffers of one function, and what writes its loops."""

    def __init__(self, plan: TilePlan, epilogue: Epilogue) -> None:
        """Write a plan's function."""
        self.plan = plan
        super().__init__(plan, epilogue)

    def _microseconds(self) -> float:
        return MICROSECONDS * self.plan.units

    def _k_steps_of_block(self) -> int:
        return self.spec.runs * self.plan.chunks * self.plan.chunk // DWORD

    def _declare_last(self) -> None:
        size = amx.CONFIGURATION_BYTES
        self.configuration = T.arg("tile_configuration", T.buffer((size,), "uint8"))

    def _begin_task(self) -> None:
        amx.request_permission()
        amx.configure(self.configuration)
        sums = sum(map(len, _SUMS)) * amx.ROWS * _LANES
        self.memory = T.alloc_buffer((sums,), "int32", scope="global")

    def _end_task(self) -> None:
        amx.release()

    def _tiles_in(self, section: Section) -> int:
        return self.plan.turns

    def _tiles(self, section: Section, block: Index, start: Index, stop: Index) -> None:
        plan = self.plan

        def turn(number: Index) -> None:
            at_once = plan.tiles_at_once
            first = unsigned_min(number * at_once, plan.tiles - at_once)
            places = [self._place(first + i) for i in range(at_once)]
            first_vector = section.first_vector + block * section.nr
            self._multiply(section, first_vector, [origin for _, _, origin in places], number)
            for tile, (line, pixel, _) in enumerate(places):
                self._rescale(section, first_vector, tile, line, pixel)

        loop_between(start, stop, turn)

    def _place(self, tile: Index) -> tuple[Index, Index, Index]:
        """Return the stretch, the first pixel in it and the first byte of a tile of pixels."""
        spec, plan = self.spec, self.plan
        _, height, width, channels = spec.staged_shape
        line = T.truncdiv(tile, plan.tiles_per_line)
        number = T.truncmod(tile, plan.tiles_per_line)
        pixel = unsigned_min(number * plan.rows, plan.line_pixels - plan.rows)
        origin = pixel * plan.pitch
        if plan.lines == spec.batch * spec.out_height:
            image, y = T.truncdiv(line, spec.out_height), T.truncmod(line, spec.out_height)
            origin += (image * height + y * spec.strides[0]) * width * channels
        elif plan.lines > 1:
            origin += line * (height * width * channels)
        return line, pixel, origin

    def _multiply(
        self, section: Section, first_vector: Index, origins: list[Index], turn: Index
    ) -> None:
        """Write the sums of a turn, and store them."""
        spec, plan = self.spec, self.plan
        _, _, width, channels = spec.staged_shape
        tiles = [(i, j, _SUMS[i][j]) for i in range(len(origins)) for j in range(section.nr)]
        for _, _, tile in tiles:
            amx.clear(tile)
        taps = spec.kernel_width // spec.taps_per_run
        piece = plan.chunk * _LANES
        fetch = self._fetch_next(section, first_vector, turn, plan.turns, spec.runs * plan.chunks)
        with T.serial(spec.kernel_height) as ky, T.serial(taps) as kx:
            run = (ky * spec.dilation[0] * width + kx * spec.dilation[1]) * channels
            with T.serial(plan.chunks) as k:
                offset = run + unsigned_min(k * plan.chunk, spec.run_length - plan.chunk)
                number = (ky * taps + kx) * plan.chunks + k
                fetch(number)
                weights = first_vector * self.vector_stride + number * (section.nr * piece)
                for j in range(section.nr):
                    amx.load(_WEIGHTS[j], self.weights, weights + j * piece, 4 * _LANES)
                for i, origin in enumerate(origins):
                    amx.load(_DATA[i], self.source, origin + offset, plan.pitch)
                for i, j, tile in tiles:
                    amx.multiply_add(tile, _DATA[i], _WEIGHTS[j])
        for i, j, tile in tiles:
            amx.store(tile, self.memory, _sums_of(i, j), 4 * _LANES)

    def _rescale(
        self, section: Section, first_vector: Index, tile: int, line: Index, first: Index
    ) -> None:
        """Write how the sums of a tile of pixels become outputs."""
        spec, plan = self.spec, self.plan
        with T.serial(plan.rows) as i:
            pixel = first + i
            row, x = T.truncdiv(pixel, plan.row_pixels), T.truncmod(pixel, plan.row_pixels)
            output = line * (spec.out_pixels // plan.lines) + row * plan.real_pixels + x
            if plan.real_pixels == plan.row_pixels:
                self._rescale_pixel(section, first_vector, tile, i, output)
            else:
                with T.If(x < plan.real_pixels), T.Then():
                    self._rescale_pixel(section, first_vector, tile, i, output)

    def _rescale_pixel(
        self, section: Section, first_vector: Index, tile: int, row: Index, output: Index
    ) -> None:
        vectors = []
        for j in range(section.nr):
            sums = self.memory[T.ramp(_sums_of(tile, j) + row * _LANES, 1, _LANES)]
            sums = sums + self.bias[first_vector + j, T.ramp(0, 1, _LANES)]
            if self.sums is not None:
                sums = sums - T.broadcast(self.sums[output], _LANES)
            vectors.append(local_vector(_LANES))
            set_lanes(vectors[-1], sums, _LANES)
        self._finish(section, first_vector, [output], [vectors])


def _sums_of(pixels: int, channels: int) -> int:
    """Return the place in memory of the sums of a tile of pixels and a vector of channels."""
    return _SUMS[pixels][channels] * amx.ROWS * _LANES
