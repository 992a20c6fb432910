"""Sums of products of a tile, K-step by K-step."""

from __future__ import annotations

from functools import cache, partial
from itertools import product
from typing import TYPE_CHECKING

from tvm.script.ir_builder import tirx as T

from legalize.kernels.conv2d.spec import ConvSpec
from legalize.kernels.conv2d.taps import range_of, tile_of, with_left_out
from legalize.kernels.conv2d.tiling import Origins, Section, first_byte, tiles_of
from legalize.kernels.conv2d.x86.epilogue.base import Epilogue
from legalize.kernels.conv2d.x86.kernel import ConvKernel
from legalize.kernels.conv2d.x86.pixels import Pixels
from legalize.kernels.conv2d.x86.tiling import microseconds, registers_of, shares_columns
from legalize.kernels.ir.places import address
from legalize.kernels.ir.tables import Table
from legalize.kernels.ir.tasks import loop_between
from legalize.kernels.ir.vectors import Buffer, Index, Vector, get_lanes, kept, set_lanes

if TYPE_CHECKING:
    from legalize.kernels.conv2d.x86.dot.plan import DotPlan

# K-steps of a strided sum that are unrolled, as in networks' first layers. There a loop takes a
# tenth of the time on Zen 4; elsewhere it costs nothing.
_MOST_WRITTEN_OUT = 12


def is_written_out(spec: ConvSpec) -> bool:
    """Tell whether the K-steps of a sum are unrolled."""
    return spec.runs * spec.k_steps_per_run <= _MOST_WRITTEN_OUT and spec.strides[1] > 1


class DotKernel(ConvKernel):
    """The writer of loops over runs and their K-steps."""

    def __init__(self, plan: DotPlan, epilogue: Epilogue, weight_dtype: str | None = None) -> None:
        """Write a plan's function, with weights of a dtype."""
        self.taps = plan.taps
        self.ranges: Table | None = None
        self.before: Table | None = None
        super().__init__(plan, epilogue, weight_dtype)

    def _microseconds(self) -> float:
        return microseconds(self.spec, self.products, self.tiling, self.taps)

    def _declare_last(self) -> None:
        """Declare the ranges of taps, and the sums of all taps before each in the padding."""
        if self.taps is None:
            return
        tiles = sum(tiles_of(self.spec, section) for section in self.tiling)
        self.ranges = self.tables.parameter("ranges", (tiles, 2), "uint8")
        if self.spec.staged_zero_point != 0:
            shape = (self.taps.count + 1, *self.bias.shape)
            self.before = self.tables.parameter("before", shape, "int32")

    def _pixels(self, section: Section, first: Index) -> Pixels:
        if self.taps is None or not self.taps.down:
            return super()._pixels(section, first)
        return Pixels([self._pixel_down(first + i) for i in range(section.mr)])

    def _pixel_down(self, number: Index) -> Index:
        """Return the output pixel with this number, counted down the columns."""
        height, width = self.spec.out_height, self.spec.out_width
        column, y = T.truncdiv(number, height), T.truncmod(number, height)
        if self.spec.batch == 1:
            return kept(y * width + column)
        image, x = T.truncdiv(column, width), T.truncmod(column, width)
        return kept((image * height + y) * width + x)

    def _origins(self, section: Section, first: Index) -> Origins:
        if self.taps is None or not self.taps.down:
            return super()._origins(section, first)
        pixels = self._pixels(section, first).numbers
        return Origins(
            [address(first_byte(self.spec, pixel)) for pixel in pixels], [0] * len(pixels)
        )

    def _start(self, section: Section, first: Index, vector: Index) -> Vector:
        start = super()._start(section, first, vector)
        if self.before is None:
            return start
        taps = self._range(section, first)
        return with_left_out(start, self.before, taps, vector, self.isa.lanes)

    def _range(self, section: Section, first: Index) -> tuple[Index, Index]:
        """Return the taps of a tile, first and end."""
        assert self.ranges is not None
        return range_of(self.ranges, self.spec, self.tiling, section, first)

    def _loops_of(
        self, section: Section, first: Index
    ) -> tuple[tuple[Index, Index], tuple[Index, Index]]:
        """Return the kernel rows and columns that a tile multiplies."""
        rows, columns = (0, self.spec.kernel_height), (0, self.spec.kernel_width)
        if self.taps is None:
            return rows, columns
        found = self._range(section, first)
        return (rows, found) if self.taps.down else (found, columns)

    def _accumulate(
        self, section: Section, first_vector: Index, first: Index, acc: list[list[Buffer]]
    ) -> None:
        if shares_columns(self.spec, self.products, section.nr, section.mr, self.taps):
            self._accumulate_columns(section, first_vector, first, acc)
            return
        spec, products = self.spec, self.products
        _, _, width, channels = spec.staged_shape
        origins = self._origins(section, first)
        taps = spec.kernel_width // spec.taps_per_run
        k_step_size = section.nr * products.lanes * spec.k_step
        k_steps = spec.run_length // spec.k_step

        def add_k_step(offset: Index, weights: Index) -> None:
            weights = kept(weights)
            parts = range(products.parts * section.nr)
            places = [weights + part * products.part_size for part in parts]
            factors = [kept(products.load_weights(self.weights, each)) for each in places]
            for place, row in zip(origins.plus(offset), acc, strict=True):
                data = [kept(each) for each in products.load_data(self.source, place)]
                for j, vector in enumerate(row):
                    total = get_lanes(vector, products.lanes)
                    own = factors[products.parts * j : products.parts * (j + 1)]
                    for values, factor in zip(data, own, strict=True):
                        total = products.multiply_add(total, values, factor)
                    set_lanes(vector, total, products.lanes)

        rows, columns = self._loops_of(section, first)
        # The K-steps of some columns in a run; the whole run, unless columns are left out.
        of_tap = k_steps // spec.taps_per_run
        is_cut = self.taps is not None and self.taps.down and taps == 1
        at_once = self._k_steps_at_once(section)
        if is_cut and of_tap % at_once:
            at_once = 1
        tile = tile_of(section, first)
        loops = spec.runs * (k_steps // at_once)
        fetch = self._fetch_next(section, first_vector, tile, self._tiles_in(section), loops)

        def add_run(ky: Index, kx: Index) -> None:
            run = (ky * spec.dilation[0] * width + kx * spec.dilation[1]) * channels
            weights = (
                first_vector * self.vector_stride
                + (ky * taps + kx) * spec.k_steps_per_run * k_step_size
            )

            def add_k_steps(number: Index) -> None:
                fetch((ky * taps + kx) * (k_steps // at_once) + number)
                for k in (number * at_once + i for i in range(at_once)):
                    add_k_step(run + k * spec.k_step, weights + k * k_step_size)

            if is_cut:
                turns = of_tap // at_once
                loop_between(columns[0] * turns, columns[1] * turns, add_k_steps)
                return
            loop_between(0, k_steps // at_once, add_k_steps)
            if k_steps % at_once:
                add_k_step(run + (k_steps - 1) * spec.k_step, weights + (k_steps - 1) * k_step_size)
            if k_steps < spec.k_steps_per_run:
                add_k_step(run + spec.run_length - spec.k_step, weights + k_steps * k_step_size)

        if is_written_out(spec):
            for ky, kx in product(range(spec.kernel_height), range(taps)):
                add_run(ky, kx)
            return
        runs: tuple[Index, Index] = (0, 1) if taps == 1 else columns
        loop_between(*rows, lambda ky: loop_between(*runs, partial(add_run, ky)))

    def _accumulate_columns(
        self, section: Section, first_vector: Index, first: Index, acc: list[list[Buffer]]
    ) -> None:
        """Write the sums of adjacent pixels, which share the columns that they load."""
        spec, products = self.spec, self.products
        _, _, width, channels = spec.staged_shape
        origin = self._origins(section, first).begins[0]
        k_steps = channels // spec.k_step
        k_step_size = section.nr * products.lanes * spec.k_step
        tile = tile_of(section, first)
        loops = spec.kernel_height * k_steps
        fetch = self._fetch_next(section, first_vector, tile, self._tiles_in(section), loops)
        rows, _ = self._loops_of(section, first)

        def add_k_step(ky: Index, k: Index) -> None:
            fetch(ky * k_steps + k)
            row = origin + ky * (spec.dilation[0] * width * channels) + k * spec.k_step
            weights = first_vector * self.vector_stride
            weights = kept(weights + (ky * spec.k_steps_per_run + k) * k_step_size)
            row = kept(row)

            @cache
            def factors(kx: int, j: int) -> Vector:
                place = weights + (kx * k_steps * k_step_size + j * products.part_size)
                return kept(products.load_weights(self.weights, place))

            for column in range(section.mr + spec.kernel_width - 1):
                data = kept(*products.load_data(self.source, row + column * channels))
                for kx in range(spec.kernel_width):
                    if not 0 <= column - kx < section.mr:
                        continue
                    for j, vector in enumerate(acc[column - kx]):
                        total = get_lanes(vector, products.lanes)
                        total = products.multiply_add(total, data, factors(kx, j))
                        set_lanes(vector, total, products.lanes)

        loop_between(*rows, lambda ky: loop_between(0, k_steps, partial(add_k_step, ky)))

    def _k_steps_at_once(self, section: Section) -> int:
        """Count the K-steps that the loop over a run takes at a time.

        Two halve the loop's own cost, if a K-step is one product. But LLVM loads weights of the
        second one early: if no register is left for them, it keeps all accumulators in memory.
        """
        taken = registers_of(self.products, section.nr, section.mr)
        return 2 if self.isa.has_byte_products and self.isa.registers - taken >= 2 else 1
