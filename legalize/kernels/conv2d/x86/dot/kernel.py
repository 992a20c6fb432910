"""Sums of products of a tile, K-step by K-step."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import cache, partial
from itertools import product
from typing import TYPE_CHECKING

from tvm.script.ir_builder import tirx as T

from legalize.kernels.conv2d.spec import ConvSpec
from legalize.kernels.conv2d.taps import range_of, tile_of, with_left_out
from legalize.kernels.conv2d.tiling import Section, divided, tiles_of
from legalize.kernels.conv2d.x86.epilogue.base import Epilogue
from legalize.kernels.conv2d.x86.kernel import ConvKernel
from legalize.kernels.conv2d.x86.prefetch import fetch_ahead, lines_of, share_of
from legalize.kernels.conv2d.x86.sizes import multiples
from legalize.kernels.conv2d.x86.tiling import microseconds, registers_of, shares_columns
from legalize.kernels.ir.places import address
from legalize.kernels.ir.tables import Table
from legalize.kernels.ir.tasks import loop_between
from legalize.kernels.ir.vectors import Index, Sums, Vector, get_lanes, kept, set_lanes

if TYPE_CHECKING:
    from legalize.kernels.conv2d.x86.dot.plan import DotPlan

# K-steps of a strided sum that are unrolled, as in networks' first layers. There a loop takes a
# tenth of the time on Zen 4; elsewhere it costs nothing.
_MOST_WRITTEN_OUT = 12

# The most weights that a K-step of a short convolution fetches ahead: one line, as most others do.
_MOST_OF_SHORT = 64


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

    @property
    def form(self) -> Hashable:
        """The facts on which the code depends; see ``ConvKernel``."""
        spec, taps = self.spec, self.taps
        window: Hashable = spec.kernel_height, spec.kernel_width, spec.pixel_pitch is None
        if taps is not None:
            has_sums = spec.staged_zero_point != 0
            window = has_sums and (taps.down, taps.count, self.isa.vectors(spec.out_channels))
        known, sections = spec.run_length // spec.k_step, []
        for section in self.tiling:
            at_once = self._k_steps_at_once(section)
            ways = self._is_in_line(section), at_once, known % at_once, self._lines(section)
            sections.append(ways)
        rest = spec.run_length % spec.k_step
        return super().form, taps is None, window, spec.runs_per_row, rest, tuple(sections)

    def _microseconds(self) -> float:
        return microseconds(self.spec, self.products, self.tiling, self.taps)

    def _declare_last(self) -> None:
        """Declare the ranges of taps, and the sums of all taps before each in the padding."""
        if self.taps is None:
            return
        tiles = sum(tiles_of(self.spec, section) for section in self.tiling)
        is_any = self.shares_sizes
        self.ranges = self.tables.parameter("ranges", (tiles, 4), "uint8", is_any=is_any)
        if self.spec.staged_zero_point != 0:
            shape = (self.taps.count + 1, *self.bias.shape)
            self.before = self.tables.parameter("before", shape, "int32", is_any=is_any)

    @property
    def _is_down(self) -> bool:
        return self.taps is not None and self.taps.down

    @property
    def _has_any_border(self) -> bool:
        return self._is_any_window and super()._has_any_border

    @property
    def _is_any_window(self) -> bool:
        return self.shares_sizes and self.taps is not None

    def _number(self, pixel: Index) -> Index:
        if not self._is_down:
            return pixel
        spec = self.spec
        column, y = T.truncdiv(pixel, spec.out_height), T.truncmod(pixel, spec.out_height)
        image, x = T.truncdiv(column, spec.out_width), T.truncmod(column, spec.out_width)
        return (image * spec.out_height + y) * spec.out_width + x

    def _start(self, section: Section, first: Index, vector: Index, bias: Vector) -> Vector:
        if self.before is None:
            return bias
        taps = self._range(section, first, int(self._is_down))
        return with_left_out(bias, self.before, taps, vector, self.isa.lanes)

    def _range(self, section: Section, first: Index, axis: int) -> tuple[Index, Index]:
        """Return the rows of the kernel that a tile multiplies, or the columns."""
        assert self.ranges is not None
        before = 0 if section.first_vector == 0 else self._tiles_in(self.tiling[0])
        return range_of(self.ranges, before, section, first, axis)

    def _loops_of(
        self, section: Section, first: Index
    ) -> tuple[tuple[Index, Index], tuple[Index, Index]]:
        """Return the kernel rows and the parts of each run that a tile multiplies."""
        if self.taps is None:
            return (0, self.spec.kernel_height), (0, self.spec.runs_per_row)
        return self._range(section, first, 0), self._range(section, first, 1)

    def _accumulate(self, section: Section, first_vector: Index, first: Index, acc: Sums) -> None:
        if shares_columns(self.spec, self.products, section.nr, section.mr, self.taps):
            self._accumulate_columns(section, first_vector, first, acc)
            return
        spec, products = self.spec, self.products
        sizes = self.sizes
        origins = self._origins(section, first)
        taps = spec.runs_per_row
        k_step_size = section.nr * products.lanes * spec.k_step
        known = spec.run_length // spec.k_step
        k_steps = sizes.whole_steps

        def add_k_step(offset: Index, weights: Index) -> None:
            weights = kept(weights)
            parts = range(products.parts * section.nr)
            places = [weights + part * products.part_size for part in parts]
            factors = [kept(products.load_weights(self.weights, each)) for each in places]
            for place, row in zip(self._places(origins, offset), acc, strict=True):
                data = [kept(each) for each in products.load_data(self.source, place)]
                for j, vector in enumerate(row):
                    total = get_lanes(vector, products.lanes)
                    own = factors[products.parts * j : products.parts * (j + 1)]
                    for values, factor in zip(data, own, strict=True):
                        total = products.multiply_add(total, values, factor)
                    set_lanes(vector, total, products.lanes)

        rows, columns = self._loops_of(section, first)
        # The K-steps of some columns in a run; the whole run, unless columns are left out.
        at_once = self._k_steps_at_once(section)
        turns = kept(divided(k_steps, at_once))
        fetch = self._fetch_next(section, first_vector, first, sizes.runs * turns)

        def add_run(ky: Index, kx: Index) -> None:
            run = ky * sizes.tap_row + kx * sizes.tap
            weights = (
                first_vector * self.vector_stride + (ky * taps + kx) * sizes.run_steps * k_step_size
            )
            if self.shares_sizes:
                # LLVM cannot tell that the sum fits 32 bits, and would widen it in each K-step.
                weights = address(weights)

            def add_k_steps(number: Index) -> None:
                fetch((ky * taps + kx) * turns + number)
                for k in (number * at_once + i for i in range(at_once)):
                    add_k_step(run + k * spec.k_step, weights + k * k_step_size)

            if taps == 1 and self.taps is not None:
                of_tap = kept(divided(sizes.tap_steps, at_once))
                loop_between(columns[0] * of_tap, columns[1] * of_tap, add_k_steps)
            else:
                loop_between(0, turns, add_k_steps)
            if known % at_once:
                add_k_step(run + (k_steps - 1) * spec.k_step, weights + (k_steps - 1) * k_step_size)
            if known < spec.k_steps_per_run:
                rest = spec.run_length - (known + 1) * spec.k_step
                add_k_step(run + k_steps * spec.k_step + rest, weights + k_steps * k_step_size)

        if is_written_out(spec):
            for ky, kx in product(range(spec.kernel_height), range(taps)):
                add_run(ky, kx)
            return
        runs: tuple[Index, Index] = (0, 1) if taps == 1 else columns
        loop_between(*rows, lambda ky: loop_between(*runs, partial(add_run, ky)))

    def _accumulate_columns(
        self, section: Section, first_vector: Index, first: Index, acc: Sums
    ) -> None:
        """Write the sums of adjacent pixels, which share the columns that they load."""
        spec, products = self.spec, self.products
        sizes = self.sizes
        origin = self._origins(section, first).begins[0]
        k_steps = spec.staged_channels // spec.k_step
        k_step_size = section.nr * products.lanes * spec.k_step
        fetch = self._fetch_next(section, first_vector, first, sizes.runs * k_steps)
        rows, _ = self._loops_of(section, first)
        columns = multiples(sizes.pixel, section.mr + spec.kernel_width - 1)

        def add_k_step(ky: Index, k: Index) -> None:
            fetch(ky * k_steps + k)
            row = origin + ky * sizes.tap_row + k * spec.k_step
            weights = first_vector * self.vector_stride
            weights = kept(weights + (ky * sizes.run_steps + k) * k_step_size)
            row = kept(row)

            @cache
            def factors(kx: int, j: int) -> Vector:
                place = weights + (kx * k_steps * k_step_size + j * products.part_size)
                return kept(products.load_weights(self.weights, place))

            for column in range(section.mr + spec.kernel_width - 1):
                data = kept(*products.load_data(self.source, row + columns[column]))
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
        Sections that read their channels take one: then any number of K-steps has the same code.
        """
        left = self.isa.registers - registers_of(self.products, section.nr, section.mr)
        if not self.isa.has_byte_products or left < 2 or self._reads_channels(section):
            return 1
        spec = self.spec
        is_odd = spec.run_length // spec.k_step // spec.taps_per_run % 2 != 0
        return 1 if is_odd and self._cuts_runs else 2

    @property
    def _cuts_runs(self) -> bool:
        """Whether tiles leave out columns of the kernel, which are parts of a run."""
        return self._is_down and self.spec.kernel_width == self.spec.taps_per_run

    def _share_of(self, section: Section) -> int:
        spec, tiles = self.spec, tiles_of(self.spec, section)
        if not self.isa.has_byte_products or tiles == 1 or self._reads_channels(section):
            return 0
        if shares_columns(spec, self.products, section.nr, section.mr, self.taps):
            steps = spec.kernel_height * (spec.staged_channels // spec.k_step)
        else:
            at_once = self._k_steps_at_once(section)
            steps = spec.runs * (spec.run_length // spec.k_step // at_once)
        stride = self._k_steps_of_block() * self.isa.lanes * spec.k_step
        share = share_of(section.nr * stride, steps, tiles) if steps else 0
        return min(share, _MOST_OF_SHORT) if self.is_short else share

    def _lines(self, section: Section) -> int:
        return lines_of(self._share_of(section), self.weight_dtype)

    def _fetch_next(
        self, section: Section, first_vector: Index, first: Index, steps: Index
    ) -> Callable[[Index], None]:
        """Return a writer of prefetches of the next block's weights; see ``fetch_ahead``.

        With one instruction for each product, weights can be used faster than caches supply them.
        """
        lines = self._lines(section)
        if lines == 0:
            return lambda k_step: None
        end = (first_vector + section.nr) * self.vector_stride
        if self.shares_sizes:
            end = address(end)
        share = self.sizes.share if section.first_vector == 0 else self.sizes.last_share
        return fetch_ahead(self.weights, end, share, lines, steps, tile_of(section, first))
