"""Depthwise convolution of bytes.

Rows are interleaved to cells in a small buffer, with the padding around them. So no padded or
shifted copy of the whole data is made:

    for each task                             in parallel, if there is work for several
      for each few output rows
        for each block of channels
          buffer = interleave(the input rows that they read)
          for each tile of output columns
            accumulators = bias
            for each kernel column and pair of an output row and a cell that it reads
              accumulators += cells · weights
            store(narrow(requantize(accumulators)))
"""

from functools import cache
from itertools import chain

from tvm import tirx
from tvm.script.ir_builder import tirx as T

from legalize.kernels.conv2d.x86.epilogue.base import Epilogue, declare_rows, read_rows
from legalize.kernels.conv2d.x86.store import narrow
from legalize.kernels.depthwise.x86.interleave import add_products, interleave
from legalize.kernels.depthwise.x86.plan import PLANES, Phase, Plan, Section, cycles
from legalize.kernels.ir.places import address, with_addresses
from legalize.kernels.ir.rows import (
    has_masks,
    load_filled,
    load_first,
    powers_of_two,
    store_first,
    store_lanes,
)
from legalize.kernels.ir.tables import Tables
from legalize.kernels.ir.tasks import loop_between, share, task_count
from legalize.kernels.ir.vectors import (
    Expr,
    Index,
    Vector,
    get_lanes,
    kept,
    local_vector,
    set_lanes,
    unsigned_min,
)
from legalize.written import flat, new_function

_CYCLES_PER_MICROSECOND = 3000
# TVM takes a "global" buffer of at least this many bytes from its workspace.
_OFF_STACK = 1024


@cache
def depthwise_conv2d(plan: Plan, epilogue: Epilogue) -> tirx.PrimFunc:
    """Build the function that computes a depthwise convolution.

    Needs a target with the features of the plan's instruction set.

    Args:
        plan: from ``pack_depthwise``.
        epilogue: from ``pack_depthwise``, too.

    Returns:
        A function of the data, ``spec.in_dtype`` of ``spec.in_shape``; the ``constants`` of
        ``pack_depthwise`` in order; and the output, ``spec.output.dtype`` of ``spec.out_shape``.
    """
    return _Kernel(plan, epilogue).build()


class _Kernel:
    """The buffers of one function, and the writer of its loops."""

    def __init__(self, plan: Plan, epilogue: Epilogue) -> None:
        self.plan = plan
        self.spec = plan.spec
        self.epilogue = epilogue
        self.bands = -(-plan.spec.out_height // plan.rows)
        self.turns = plan.spec.batch * self.bands
        self.tasks = task_count(cycles(plan) / _CYCLES_PER_MICROSECOND)

    def build(self) -> tirx.PrimFunc:
        # As for conv2d: with "noalias" LLVM would lift loads of constants, and spill them.
        with new_function("depthwise_conv2d", noalias=False) as builder:
            self._declare()
            with with_addresses():
                if self.tasks == 1:
                    self._rows(0, self.turns)
                else:
                    with T.parallel(self.tasks) as task:
                        self._rows(*share(task, self.tasks, self.turns))
        return builder.get()

    def _rows(self, start: Index, stop: Index) -> None:
        """Write the loop of one task, with buffers of its own."""
        spec, plan = self.spec, self.plan
        parts = []
        first_vector = 0
        for section in plan.sections:
            part = _Part(self, section, first_vector)
            part.fill_borders()
            parts.append(part)
            first_vector += section.blocks * PLANES

        def turn(number: Index) -> None:
            image, band = T.truncdiv(number, self.bands), T.truncmod(number, self.bands)
            # The last rows overlap the ones before.
            row = kept(unsigned_min(band * plan.rows, spec.out_height - plan.rows))
            inputs, output = self._input_rows(image, row), image * spec.out_height + row
            for part in parts:
                with T.serial(part.section.blocks) as block:
                    channel = kept(part.channel(block))
                    part.interleave(inputs, channel)
                    part.convolve(output, block, channel)

        loop_between(start, stop, turn)

    def _input_rows(self, image: Index, out_row: Index) -> list[tuple[Index, Expr]]:
        """Return the number of each input row, clamped to the image, and whether it is inside.

        None stands for a condition that always holds.
        """
        spec = self.spec
        top, _, bottom, _ = spec.padding
        rows = []
        for offset in self.plan.row_offsets:
            row = kept(out_row * spec.strides[0] + (offset - top))
            inside = None
            if top or bottom:
                inside = T.And(row >= 0, row < spec.in_height)
                row = T.max(T.min(row, spec.in_height - 1), 0)
            # Not kept, like the output's row: LLVM would spill 28 registers in keyword spotting.
            rows.append((image * spec.in_height + row, inside))
        return rows

    def _declare(self) -> None:
        spec, plan = self.spec, self.plan
        self.tables = Tables()
        data = T.arg("data", T.buffer(spec.in_shape, spec.in_dtype))
        vectors, taps = plan.vectors(), plan.form.taps
        self.weights_stride = len(plan.products) * plan.isa.lanes * taps
        size = vectors * self.weights_stride
        self.weights = T.arg("weights", T.buffer((size,), "int8" if taps == 4 else "int16"))
        self.bias = self.tables.parameter("bias", (vectors, plan.isa.lanes), "int32")
        self.constants = declare_rows(self.epilogue, self.tables, vectors, plan.isa.lanes)
        output = T.arg("output", T.buffer(spec.out_shape, spec.output.dtype))
        self.tables.flatten()
        self.source, self.target = flat(data), flat(output)


class _Part:
    """The writer of one section's loops."""

    def __init__(self, kernel: _Kernel, section: Section, first_vector: int) -> None:
        self.kernel = kernel
        self.plan = kernel.plan
        self.spec = kernel.spec
        self.section = section
        self.first_vector = first_vector
        self.lanes = kernel.plan.isa.lanes
        self.pixels = kernel.plan.pixels(section)
        channels = section.channels
        # A single load or store of the channels is faster than one with a mask.
        is_one = channels == section.width or channels.bit_count() == 1
        self.is_masked = has_masks(kernel.plan.isa.lanes) and not is_one
        self.plane_size = self.plan.slots(section) * section.width
        size = self.plan.cells * self.spec.strides[1] * PLANES * self.plane_size
        # The buffer is not on the stack: LLVM would turn the few pixels of a tiny image into
        # shuffles of registers, and some of these crash LLVM 22.
        self.cells = T.alloc_buffer((max(size, _OFF_STACK),), "uint8", scope="global")

    def channel(self, block: Index) -> Index:
        """Return the first channel of a block."""
        section = self.section
        channel = section.first_channel + block * section.width
        return unsigned_min(channel, section.last_channel) if section.overlaps else channel

    def fill_borders(self) -> None:
        """Write the left and right padding, which is the same for all rows."""
        width = self.section.width
        value = self._cell(self.spec.staged_zero_point, width)
        for phase in self.plan.phases:
            after = phase.first_slot + phase.columns
            end = -(-(self.plan.columns - phase.number) // self.spec.strides[1])
            for first, stop in ((0, min(phase.first_slot, end)), (after, end)):
                if stop > first:
                    with (
                        T.serial(self.plan.cells) as cell,
                        T.serial(PLANES) as plane,
                        T.serial(stop - first) as slot,
                    ):
                        start = self._plane(cell, phase.number, plane) + (first + slot) * width
                        T.buffer_store(self.cells, value, [T.ramp(start, 1, width)])

    def _cell(self, value: int, lanes: int) -> Vector:
        """Return a vector of bytes whose cells hold only this value."""
        bits = value * (0x01010101 if self.plan.form.taps == 4 else 0x00010001)
        signed = bits - (1 << 32) if bits >= 1 << 31 else bits
        return T.reinterpret(f"uint8x{lanes}", T.broadcast(T.int32(signed), lanes // 4))

    def interleave(self, inputs: list[tuple[Index, Expr]], channel: Index) -> None:
        """Write the loops that interleave some of the rows of ``_input_rows``."""
        pixels = self.pixels
        for phase in self.plan.phases:
            count = phase.columns
            if count < pixels:
                for slot, size in powers_of_two(count):
                    self._piece(inputs, channel, phase, slot, size)
            else:
                with T.serial(-(-count // pixels)) as i:
                    # The last vector overlaps the one before.
                    slot = (
                        unsigned_min(i * pixels, count - pixels) if count % pixels else i * pixels
                    )
                    self._piece(inputs, channel, phase, kept(slot), pixels)

    def _piece(
        self, inputs: list[tuple[Index, Expr]], channel: Index, phase: Phase, slot: Index, size: int
    ) -> None:
        """Interleave ``size`` columns of a phase, from one on."""
        column = phase.first_column + slot * self.spec.strides[1]
        rows = self._rows(inputs, channel, column, size)
        self._interleave(rows, phase.number, phase.first_slot + slot, size * self.section.width)

    def _plane(self, cell: Index, phase: Index, plane: Index) -> Index:
        """Return the offset of a plane in the buffer of cells."""
        return ((cell * self.spec.strides[1] + phase) * PLANES + plane) * self.plane_size

    def _rows(
        self, inputs: list[tuple[Index, Expr]], channel: Index, column: Index, size: int
    ) -> list[Vector]:
        """Load the bytes of the same ``size`` columns of every row."""
        spec = self.spec
        lanes = size * self.section.width
        zero = T.broadcast(T.uint8(spec.input_zero_point & 255), lanes)
        rows = []
        for row, inside in inputs:
            pixel = row * spec.in_width + column
            value = self._load(address(pixel * spec.in_channels + channel), size)
            if spec.in_dtype == "int8":
                value = T.reinterpret(f"uint8x{lanes}", value)
            rows.append(kept(value if inside is None else T.Select(inside, value, zero)))
        return rows

    def _load(self, start: Index, size: int) -> Vector:
        """Load the block's channels of ``size`` columns that are a stride apart."""
        spec, width = self.spec, self.section.width
        source = self.kernel.source
        pitch = spec.strides[1] * spec.in_channels
        if self.section.channels == width and (size == 1 or pitch == width):
            return source[T.ramp(start, 1, size * width)]
        pixels = [self._load_pixel(start + i * pitch) for i in range(size)]
        return pixels[0] if size == 1 else T.Shuffle(pixels, list(range(size * width)))

    def _load_pixel(self, start: Index) -> Vector:
        """Load the block's channels of one pixel, but no further byte: there may be none."""
        load = load_first if self.is_masked else load_filled
        # Surplus lanes meet weights of zero.
        return load(self.kernel.source, start, self.section.channels, self.section.width)

    def _interleave(self, rows: list[Vector], phase: int, slot: Index, lanes: int) -> None:
        taps = self.plan.form.taps
        for cell in range(self.plan.cells):
            own = rows[cell * taps : (cell + 1) * taps]
            # Slots that no row fills meet weights of zero.
            own += own[:1] * (taps - len(own))
            planes = interleave(own)
            if self.spec.in_dtype == "int8":
                planes = [T.bitwise_xor(plane, self._cell(128, lanes)) for plane in planes]
            # Load all planes before the first store: LLVM must assume that it changes the data.
            for number, value in enumerate([kept(plane) for plane in planes]):
                start = self._plane(cell, phase, number) + slot * self.section.width
                T.buffer_store(self.cells, value, [T.ramp(start, 1, lanes)])

    def convolve(self, first_row: Index, block: Index, channel: Index) -> None:
        """Write the loop over the tiles of some output rows, the first of which has this number."""
        spec, pixels = self.spec, self.pixels
        columns = self.plan.tiles * pixels
        if spec.out_width < columns:
            self._tile(first_row, block, channel, T.int32(0), spec.out_width)
        else:
            with T.serial(-(-spec.out_width // columns)) as tile:
                # The last tile overlaps the one before.
                first = unsigned_min(tile * columns, spec.out_width - columns)
                self._tile(first_row, block, channel, first, columns)

    def _tile(
        self, first_row: Index, block: Index, channel: Index, column: Index, columns: int
    ) -> None:
        """Write the computation of ``columns`` neighbouring outputs in each row."""
        spec, plan, kernel = self.spec, self.plan, self.kernel
        pixels, lanes = self.pixels, self.lanes
        tiles = -(-columns // pixels)
        vector = address(self.first_vector + block * PLANES)
        slot = address(column * self.section.width)
        # The planes of each vector of each row.
        results: list[list[list[Vector]]] = [[[] for _ in range(tiles)] for _ in range(plan.rows)]
        # Plane by plane, so that a plane's weights and constants are loaded once for all tiles. All
        # loads precede the first store, as LLVM must assume that it changes what is loaded.
        for plane in range(PLANES):
            bias = kept(kernel.bias[vector + plane, T.ramp(0, 1, lanes)])
            acc = self._sums(vector, plane, slot, [[bias] * tiles for _ in range(plan.rows)])
            constants = read_rows(kernel.constants, vector + plane)
            for sums, planes in zip(chain(*acc), chain(*results), strict=True):
                planes.append(kept(kernel.epilogue.emit(sums, constants)))
        for r, row in enumerate(results):
            start = address((first_row + r) * spec.out_width + column)
            for t, vectors in enumerate(row):
                self._store(start + t * pixels, channel, vectors, min(pixels, columns - t * pixels))

    def _sums(
        self, vector: Index, plane: int, slot: Index, acc: list[list[Vector]]
    ) -> list[list[Vector]]:
        """Write the sums of one plane of the vectors of each row, and return them."""
        plan, kernel, spec, lanes = self.plan, self.kernel, self.spec, self.lanes
        weights_size, size = lanes * plan.form.taps, plan.vector_bytes
        stride, dilation = spec.strides[1], spec.dilation[1]

        def weights_at(number: Index) -> Vector:
            place = number * PLANES + plane
            start = vector * kernel.weights_stride + place * weights_size
            return kept(kernel.weights[T.ramp(start, 1, weights_size)])

        def place_of(column: Index, cell: Index) -> Index:
            shift, phase = column * dilation // stride, column * dilation % stride
            return self._plane(cell, phase, plane) + shift * self.section.width

        @cache
        def cells_at(place: Index) -> Vector:
            return kept(self.cells[T.ramp(slot + place, 1, size)])

        if plan.is_unrolled:
            for number, each in enumerate(plan.products):
                place = place_of(each.column, each.cell)
                cells_at(place)  # before the weights: LLVM's code depends on the order
                weights = weights_at(number)
                acc[each.row] = [
                    kept(add_products(plan.isa, sums, cells_at(place + t * size), weights))
                    for t, sums in enumerate(acc[each.row])
                ]
            return acc
        ((*starts,),) = acc
        buffers = [local_vector(lanes) for _ in starts]
        for sums, start in zip(buffers, starts, strict=True):
            set_lanes(sums, start, lanes)
        terms = plan.form.terms
        with T.serial(spec.kernel_width) as column, T.serial(plan.cells) as cell:
            place = place_of(column, cell)
            for term in range(terms):
                weights = weights_at((column * plan.cells + cell) * terms + term)
                for t, sums in enumerate(buffers):
                    cells = self.cells[T.ramp(slot + place + t * size, 1, size)]
                    total = add_products(plan.isa, get_lanes(sums, lanes), cells, weights)
                    set_lanes(sums, total, lanes)
        return [[get_lanes(sums, lanes) for sums in buffers]]

    def _store(self, pixel: Index, channel: Index, vectors: list[Vector], pixels: int) -> None:
        """Store the first ``pixels`` pixels of a vector."""
        spec, width = self.spec, self.section.width
        if spec.output.dtype == "int32":
            for plane, value in enumerate(vectors):
                for quarter in range(self.lanes // 4):
                    place, first = divmod(quarter * 16 + plane * 4, width)
                    if place < pixels:
                        start = (pixel + place) * spec.out_channels + channel + first
                        count = min(4, self.section.channels - first)
                        store_lanes(self.kernel.target, value, quarter * 4, start, count)
            return
        ((value, _, _),) = narrow(spec.output, vectors, self.kernel.epilogue.zero_point_left)
        start = pixel * spec.out_channels + channel
        if width == spec.out_channels and pixels == self.pixels:
            store_lanes(self.kernel.target, value, 0, start, self.plan.vector_bytes)
        else:
            value = kept(value)
            for place in range(pixels):
                at, first = start + place * spec.out_channels, place * width
                if self.is_masked:
                    part = T.Shuffle([value], list(range(first, first + width)))
                    store_first(self.kernel.target, part, at, self.section.channels)
                else:
                    store_lanes(self.kernel.target, value, first, at, self.section.channels)
