"""Sums of products of a tile, K-step by K-step."""

from __future__ import annotations

from itertools import product

from tvm.script.ir_builder import tirx as T

from legalize.kernels.conv2d.tiling import Section
from legalize.kernels.conv2d.x86.kernel import ConvKernel
from legalize.kernels.conv2d.x86.tiling import registers_of, shares_columns
from legalize.kernels.ir.registers import get_lanes, set_lanes
from legalize.kernels.ir.types import Buffer, Index

# K-steps of a strided sum that are written one after the other, as in networks' first layers, of
# which a loop takes a tenth on Zen 4; elsewhere it takes nothing.
_MOST_WRITTEN_OUT = 12


class DotKernel(ConvKernel):
    """The writer of loops over runs and their K-steps."""

    def _accumulate(
        self, section: Section, first_vector: Index, first: Index, acc: list[list[Buffer]]
    ) -> None:
        if shares_columns(self.spec, self.products, section.nr, section.mr):
            self._accumulate_columns(section, first_vector, first, acc)
            return
        spec, products = self.spec, self.products
        _, _, width, channels = spec.staged_shape
        origins = [self._origin(first + i) for i in range(section.mr)]
        taps = spec.kernel_width // spec.taps_per_run
        k_step_size = section.nr * products.lanes * spec.k_step
        k_steps = spec.run_length // spec.k_step

        def add_k_step(offset: Index, weights: Index) -> None:
            for origin, row in zip(origins, acc, strict=True):
                data = products.load_data(self.source, origin + offset)
                for j, vector in enumerate(row):
                    total = get_lanes(vector, products.lanes)
                    for part, values in enumerate(data, products.parts * j):
                        factors = products.load_weights(
                            self.weights, weights + part * products.part_size
                        )
                        total = products.multiply_add(total, values, factors)
                    set_lanes(vector, total, products.lanes)

        at_once = self._k_steps_at_once(section)
        tile = T.truncdiv(first + section.mr - 1, section.mr)
        loops = spec.runs * (k_steps // at_once)
        fetch = self._fetch_next(section, first_vector, tile, self._tiles_in(section), loops)

        def add_run(ky: Index, kx: Index) -> None:
            run = (ky * spec.dilation[0] * width + kx * spec.dilation[1]) * channels
            weights = (
                first_vector * self.vector_stride
                + (ky * taps + kx) * spec.k_steps_per_run * k_step_size
            )
            with T.serial(k_steps // at_once) as number:
                fetch((ky * taps + kx) * (k_steps // at_once) + number)
                for k in (number * at_once + i for i in range(at_once)):
                    add_k_step(run + k * spec.k_step, weights + k * k_step_size)
            if k_steps % at_once:
                add_k_step(run + (k_steps - 1) * spec.k_step, weights + (k_steps - 1) * k_step_size)
            if k_steps < spec.k_steps_per_run:
                add_k_step(run + spec.run_length - spec.k_step, weights + k_steps * k_step_size)

        is_short = spec.runs * spec.k_steps_per_run <= _MOST_WRITTEN_OUT
        if is_short and spec.strides[1] > 1:
            for ky, kx in product(range(spec.kernel_height), range(taps)):
                add_run(ky, kx)
        else:
            with T.serial(spec.kernel_height) as ky, T.serial(taps) as kx:
                add_run(ky, kx)

    def _accumulate_columns(
        self, section: Section, first_vector: Index, first: Index, acc: list[list[Buffer]]
    ) -> None:
        """Write the sums of pixels side by side: what one loads, those before it multiply, too."""
        spec, products = self.spec, self.products
        _, _, width, channels = spec.staged_shape
        origin = self._origin(first)
        k_steps = channels // spec.k_step
        k_step_size = section.nr * products.lanes * spec.k_step
        tile = T.truncdiv(first, section.mr)
        loops = spec.kernel_height * k_steps
        fetch = self._fetch_next(section, first_vector, tile, self._tiles_in(section), loops)
        with T.serial(spec.kernel_height) as ky, T.serial(k_steps) as k:
            fetch(ky * k_steps + k)
            row = origin + ky * (spec.dilation[0] * width * channels) + k * spec.k_step
            weights = first_vector * self.vector_stride
            weights += (ky * spec.k_steps_per_run + k) * k_step_size
            for column in range(section.mr + spec.kernel_width - 1):
                (data,) = products.load_data(self.source, row + column * channels)
                for kx in range(spec.kernel_width):
                    if not 0 <= column - kx < section.mr:
                        continue
                    for j, vector in enumerate(acc[column - kx]):
                        place = weights + kx * k_steps * k_step_size + j * products.part_size
                        factors = products.load_weights(self.weights, place)
                        total = get_lanes(vector, products.lanes)
                        total = products.multiply_add(total, data, factors)
                        set_lanes(vector, total, products.lanes)

    def _k_steps_at_once(self, section: Section) -> int:
        """Count the K-steps that the loop over a run takes at a time.

        Two halve the loop's own cost, where a K-step is one product. But LLVM loads weights of the
        second one early: with no register left for them it keeps all accumulators in memory.
        """
        taken = registers_of(self.products, section.nr, section.mr)
        return 2 if self.isa.has_byte_products and self.isa.registers - taken >= 2 else 1
