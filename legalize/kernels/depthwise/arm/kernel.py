"""Depthwise convolution of int8 data.

for each task                             in parallel, if there is work for several
  for each output row
    for each block of channels
      for each tile of output columns
        accumulators = bias
        for each short sum of taps
          accumulators += sum in 16 bits of data · weights
        store(narrow(requantize(accumulators)))
"""

from functools import cache
from typing import Any

from tvm import tirx
from tvm.script.ir_builder import tirx as T

from legalize.kernels.conv2d.arm.epilogue import Epilogue, store_channels
from legalize.kernels.depthwise.arm.plan import Plan, Section, microseconds
from legalize.kernels.ir.tables import Tables
from legalize.kernels.ir.tasks import shared_loop, task_count
from legalize.kernels.ir.vectors import (
    Index,
    Sums,
    Vector,
    get_lanes,
    kept,
    lanes_in,
    local_vector,
    set_lanes,
    unsigned_min,
)
from legalize.kernels.isa.neon import LANES, half, multiply_long
from legalize.written import flat, new_function


@cache
def depthwise_conv2d(plan: Plan, epilogue: Epilogue) -> tirx.PrimFunc:
    """Build the function that computes a depthwise convolution.

    Args:
        plan: from ``pack_depthwise``.
        epilogue: how accumulators become outputs, from ``pack_depthwise``, too.

    Returns:
        A function of the data, int8 of ``spec.staged_shape``; the ``constants`` of
        ``pack_depthwise`` in order; and the output, ``spec.output.dtype`` of ``spec.out_shape``.
    """
    return _Kernel(plan, epilogue).build()


class _Kernel:
    """The buffers of one function, and the writer of its loops."""

    def __init__(self, plan: Plan, epilogue: Epilogue) -> None:
        self.plan = plan
        self.spec = plan.spec
        self.epilogue = epilogue
        self.turns = plan.spec.batch * plan.spec.out_height
        self.tasks = task_count(microseconds(plan))
        self.kernel_rows = plan.spec.kernel_height if plan.is_looped else 1

    def build(self) -> tirx.PrimFunc:
        # As for conv2d: with "noalias" LLVM would lift loads of constants, and spill them.
        with new_function("depthwise_conv2d", noalias=False) as builder:
            self._declare()
            shared_loop(self.tasks, self.turns, self._row)
        return builder.get()

    def _declare(self) -> None:
        spec, plan = self.spec, self.plan
        vectors = len(plan.lane_channels())
        size = vectors * LANES * self.kernel_rows * len(plan.terms)
        self.tables = Tables()
        data = T.arg("data", T.buffer(spec.staged_shape, "int8"))
        self.weights = T.arg("weights", T.buffer((size,), "int8"))
        self.bias = self.tables.parameter("bias", (vectors, LANES), "int32")
        self.rows = self.epilogue.declare(self.tables, vectors)
        output = T.arg("output", T.buffer(spec.out_shape, spec.output.dtype))
        self.tables.flatten()
        self.source, self.target = flat(data), flat(output)

    def _row(self, number: Index) -> None:
        """Write the computation of an output row."""
        spec, pixels = self.spec, self.plan.pixels
        first_vector = 0
        for section in self.plan.sections:
            vectors = section.width // LANES
            with T.serial(section.blocks) as block:
                vector = first_vector + block * vectors
                with T.serial(-(-spec.out_width // pixels)) as tile:
                    # The last tile overlaps the one before.
                    column = unsigned_min(tile * pixels, spec.out_width - pixels)
                    self._tile(section, block, vector, number, column)
            first_vector += section.blocks * vectors

    def _tile(
        self, section: Section, block: Index, vector: Index, row: Index, column: Index
    ) -> None:
        """Write the computation of some neighbouring outputs of a row."""
        spec, plan = self.spec, self.plan
        vectors = section.width // LANES
        channel = section.first_channel + block * section.width
        acc = [[local_vector(LANES) for _ in range(vectors)] for _ in range(plan.pixels)]
        for j in range(vectors):
            bias = kept(self.bias[vector + j, T.ramp(0, 1, LANES)])
            for pixel in acc:
                set_lanes(pixel[j], bias, LANES)
        weights = vector * LANES * self.kernel_rows * len(plan.terms)
        image, y = T.truncdiv(row, spec.out_height), T.truncmod(row, spec.out_height)
        _, height, width, channels = spec.staged_shape
        first_row = image * height + y * spec.strides[0]
        origin = kept((first_row * width + column * spec.strides[1]) * channels + channel)
        if plan.is_looped:
            with T.serial(spec.kernel_height) as ky:
                run = origin + ky * (spec.dilation[0] * width * channels)
                start = weights + ky * (len(plan.terms) * section.width)
                self._accumulate(section, run, start, acc)
        else:
            self._accumulate(section, origin, weights, acc)
        neon = plan.isa.neon
        for j in range(vectors):
            constants = [kept(rows[vector + j, T.ramp(0, 1, LANES)]) for rows in self.rows]
            for pixel in acc:
                value = get_lanes(pixel[j], LANES)
                value = self.epilogue.emit(neon, value, constants)
                set_lanes(pixel[j], value, LANES)
        for i, pixel in enumerate(acc):
            start = (row * spec.out_width + column + i) * spec.out_channels + channel
            values = [get_lanes(each, LANES) for each in pixel]
            shift = self.epilogue.narrowing_shift
            store_channels(spec, neon, self.target, start, values, section.width, shift)

    def _accumulate(self, section: Section, origin: Index, weights: Index, acc: Sums) -> None:
        """Write all short sums of products."""
        spec, plan, size = self.spec, self.plan, section.width
        _, _, width, channels = spec.staged_shape
        loaded: dict[int, Any] = {}
        number = 0
        for terms in plan.short_sums:
            factors = [
                kept(self.weights[T.ramp(weights + (number + i) * size, 1, size)])
                for i in range(len(terms))
            ]
            number += len(terms)
            for i, pixel in enumerate(acc):
                values = []
                for ky, kx, _ in terms:
                    column = kx * spec.dilation[1] + i * spec.strides[1]
                    place = ky * spec.dilation[0] * width + column
                    if place not in loaded:
                        start = origin + place * channels
                        loaded[place] = kept(self.source[T.ramp(start, 1, size)])
                    values.append(loaded[place])
                for eighth in range(size // 8):
                    products = [
                        multiply_long(_eight(value, eighth), _eight(factor, eighth))
                        for value, factor in zip(values, factors, strict=True)
                    ]
                    total = kept(sum(products[1:], products[0]))
                    for part in range(2):
                        sums = pixel[2 * eighth + part]
                        wide = T.Cast("int32x4", half(total, part))
                        set_lanes(sums, get_lanes(sums, LANES) + wide, LANES)


def _eight(value: Vector, number: int) -> Vector:
    """Return eight lanes of a vector of eight or sixteen."""
    return value if lanes_in(value) == 8 else half(value, number)
