"""The writer of the function of a convolution of uint8 data with int8 or int16 weights.

A tile of output pixels × channels is summed in registers, then rescaled, narrowed and stored:

    for each task                               in parallel, if there is work for several
      for each block of output channels         its weights stay in the cache
        for each tile of output pixels          numbered through rows and images
          accumulators = bias
          for each run of bytes, each K-step of it
            accumulators += broadcast(data) · weights
          store(narrow(epilogue(accumulators)))
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from tvm import tirx
from tvm.script.ir_builder import tirx as T

from legalize.kernels.conv2d.constants import window_sums
from legalize.kernels.conv2d.tiling import Origins, Section, TileLoops, lies_in_line
from legalize.kernels.conv2d.x86.epilogue.addend import AddendBlock
from legalize.kernels.conv2d.x86.epilogue.base import Epilogue, Rows, declare_rows, read_rows
from legalize.kernels.conv2d.x86.pixel_sums import window_sum
from legalize.kernels.conv2d.x86.pixels import Pixels, Target, encodings_of
from legalize.kernels.conv2d.x86.sizes import Sizes, multiples, parts
from legalize.kernels.conv2d.x86.store import store_pixel
from legalize.kernels.conv2d.x86.tiling import PREFERENCE, microseconds
from legalize.kernels.ir.places import address, with_addresses
from legalize.kernels.ir.tables import Table, Tables
from legalize.kernels.ir.tasks import task_count
from legalize.kernels.ir.vectors import (
    Buffer,
    Expr,
    Index,
    Sums,
    Vector,
    get_lanes,
    kept,
    local_vector,
    set_lanes,
)
from legalize.kernels.kernel import WRITES_OVER
from legalize.written import new_function

if TYPE_CHECKING:
    from legalize.kernels.conv2d.x86.plan import Plan

# Addresses of pixels that stay in registers for a loop.
_MOST_ADDRESSES = 6


class ConvKernel(TileLoops):
    """The buffers of one function, and the writer of its loops."""

    def __init__(self, plan: Plan, epilogue: Epilogue, weight_dtype: str | None = None) -> None:
        """Write a plan's function; weights have the multiplied dtype unless another is given."""
        self.spec = plan.spec
        self.products = plan.products
        self.isa = plan.products.isa
        self.tiling = plan.tiling
        self.epilogue = epilogue
        self.residual = plan.residual_sum(epilogue)
        self.shares_sizes = plan.shares_sizes
        self.is_short = plan.is_short
        # The zero point that is added when outputs are stored; a residual sum already contains it.
        self.zero_point = 0 if plan.spec.fusion.residual is not None else epilogue.zero_point_left
        self.weight_dtype = weight_dtype or plan.products.weight_dtype
        self.tasks = self._task_count()
        self.sizes = Sizes.known(
            plan.spec,
            blocks=self.tiling[0].blocks,
            vector=self._k_steps_of_block() * self.isa.lanes * plan.spec.k_step,
            tasks=self.tasks,
            shares=[self._share_of(section) for section in self.tiling],
            zero_point=self.zero_point,
            down=self._is_down,
        )
        is_any = self._has_any_border
        self.place = Target.known(plan.spec, self.sizes, is_any=is_any, down=self._is_down)

    @property
    def form(self) -> Hashable:
        """The facts on which the code depends if it reads its sizes; those of every way."""
        spec, lanes = self.spec, self.isa.lanes
        output, fusion, epilogue = spec.output, spec.fusion, self.epilogue
        if fusion.residual is None:
            epilogue = replace(epilogue, zero_point_left=int(self.zero_point != 0))
        sections = []
        for section in self.tiling:
            channels = min(section.nr * lanes, spec.out_channels - section.first_vector * lanes)
            known = None if self._reads_channels(section) else channels
            blocks = None if self.reads_blocks(section) else section.blocks
            sections.append((section.nr, self._tile_of(section), known, blocks))
        return (
            *(type(self), self.products, epilogue, self.weight_dtype, tuple(sections)),
            *(output.dtype, output.low, output.high, output.rounding, output.has_two_floors),
            *(fusion.residual, fusion.addend, self.place.fill_lanes, self.place.is_linear),
            *(spec.batch, self.zero_point != 0, self.tasks > 1),
        )

    def _tile_of(self, section: Section) -> int:
        """Return the size of a tile that the code knows: pixels, or tiles of a turn."""
        return section.mr

    def build(self) -> tirx.PrimFunc:
        """Write the function."""
        # Without "noalias" the rescaling's loads stay where they are used. With it LLVM lifts them
        # out of the loop over tiles, and spills them.
        with new_function("conv2d", noalias=False) as builder:
            self._declare()
            with with_addresses():
                self.place.fill_border(self.target)
                self._loops()
        function = builder.get()
        if not self._writes_over_addend():
            return function
        return function.with_attr(WRITES_OVER, len(function.params) - 2)

    def _writes_over_addend(self) -> bool:
        """Tell whether outputs may overwrite the residual's tensor."""
        return False

    @property
    def _pixels(self) -> Index:
        return self.sizes.pixels

    @property
    def _known_tasks(self) -> Index:
        return self.sizes.tasks

    def _task_count(self) -> int:
        return task_count(self._microseconds())

    def _microseconds(self) -> float:
        return microseconds(self.spec, self.products, self.tiling)

    @property
    def numbers_to_read(self) -> list[int]:
        """The numbers that a function of several convolutions reads."""
        return [*self.place.numbers, *(self.sizes if self.shares_sizes else ())]

    @property
    def _is_down(self) -> bool:
        """Whether pixels are numbered down the columns of an image."""
        return False

    @property
    def _has_any_border(self) -> bool:
        """Whether the same code serves outputs with a border and without."""
        # Without byte products no output has a border.
        has_borders = self.isa.has_byte_products and self.spec.stored.dtype == "uint8"
        return self.shares_sizes and has_borders

    @property
    def _is_any_window(self) -> bool:
        """Whether the same code serves kernels of any height and width."""
        return False

    def _share_of(self, section: Section) -> int:
        """Return how many weights a K-step fetches ahead; see ``fetch_ahead``."""
        del section
        return 0

    def reads_blocks(self, section: Section) -> bool:
        """Tell whether the number of a section's blocks is a size: its channels fill vectors."""
        channels = (section.first_vector + section.blocks * section.nr) * self.isa.lanes
        is_whole = self._reads_channels(section) or channels <= self.spec.out_channels
        return section == self.tiling[0] and is_whole

    def _reads_channels(self, section: Section) -> bool:
        """Tell whether the code reads how many channels of the last vector are real."""
        return self.is_short and (section.nr, section.mr) not in PREFERENCE

    def _blocks_of(self, section: Section) -> Index:
        return self.sizes.blocks if self.reads_blocks(section) else section.blocks

    def _vector_of(self, section: Section) -> Index:
        """Return the first vector of a section."""
        if section == self.tiling[0] or not self.shares_sizes:
            return section.first_vector
        return self.sizes.blocks * self.tiling[0].nr

    def _declare(self) -> None:
        spec, lanes = self.spec, self.isa.lanes
        vectors = self.isa.vectors(spec.out_channels)
        self.tables = Tables()
        is_any = self.shares_sizes
        data = self.tables.parameter("data", spec.staged_shape, spec.staged_dtype, is_any=is_any)
        self.vector_stride: Index = self.sizes.vector
        size = vectors * self.sizes.vector
        weights = self.tables.parameter("weights", (size,), self.weight_dtype, is_any=is_any)
        self.bias = self.tables.parameter("bias", (vectors, lanes), "int32", is_any=is_any)
        self._declare_k_steps()
        zero_point = None
        if spec.has_asymmetric_kernel and self.products.takes_raw_weights:
            zero_point = T.arg("kernel_zero_point", T.buffer((1,), "int32"))
        self.constants = declare_rows(self.epilogue, self.tables, vectors, lanes, is_any=is_any)
        if self.residual is not None:
            shape = self.residual.rows.shape
            self.numbers = self.tables.parameter("numbers", shape, "int32")
        places = None
        if spec.fusion.is_shared:
            places = self.tables.parameter("target", (len(self.numbers_to_read),), "int32")
        self._declare_last()
        addend = None
        if (dtype := spec.fusion.added_dtype) is not None:
            addend = self.tables.parameter("addend", spec.target_shape, dtype, is_any=is_any)
        encoding = None
        if spec.fusion.encoding is not None:
            encoding = self.tables.parameter("encoding", spec.fusion.encoding.shape, "float32")
        is_any, dtype = spec.fusion.is_shared, spec.stored.dtype
        output = self.tables.parameter("output", spec.target_shape, dtype, is_any=is_any)
        self.tables.flatten()
        if places is not None:
            self._read(places)
        self.source, self.weights, self.target = data.row, weights.row, output.row
        self.addend, self.encoding = (each and each.row for each in (addend, encoding))
        self.sums = None
        if zero_point is not None:
            window = partial(window_sum, spec, self.isa, self.source)
            self.sums = window_sums(spec, window, zero_point, self.tasks)

    def _read(self, table: Table) -> None:
        """Read ``numbers_to_read``."""
        if self.shares_sizes:
            self.sizes = self.sizes.read(table, len(self.place.numbers))
            self.vector_stride = self.sizes.vector
            # A function knows only whether there is one.
            self.zero_point = self.zero_point and self.sizes.zero_point
        self.place = self.place.read(table, self.sizes)

    def _k_steps_of_block(self) -> int:
        return self.spec.runs * self.spec.k_steps_per_run

    def _declare_k_steps(self) -> None:
        """Declare the constants that locate the K-steps of a block, if there are any."""

    def _declare_last(self) -> None:
        """Declare the constants that come last."""

    def _tile(self, section: Section, block: Index, first: Index) -> None:
        """Write the computation of one tile, whose first pixel is ``first``."""
        lanes = self.isa.lanes
        first_vector = kept(self._vector_of(section) + block * section.nr)
        acc = [[local_vector(lanes) for _ in range(section.nr)] for _ in range(section.mr)]
        pixels = Pixels.following(first, section.mr)
        ((biases, _),), number = self._rows_of([(self.bias, lanes)], first_vector)
        for j in range(section.nr):
            start = biases[number + j, T.ramp(0, 1, lanes)]
            bias = kept(self._start(section, first, first_vector + j, start))
            for pixel, row in zip(pixels.numbers, acc, strict=True):
                start = bias
                if self.sums is not None:
                    start = bias - T.broadcast(self.sums[self._number(pixel)], lanes)
                set_lanes(row[j], start, lanes)
        self._accumulate(section, first_vector, first, acc)
        self._finish(section, first_vector, pixels, acc)

    def _number(self, pixel: Index) -> Index:
        """Return the number of a pixel along the rows."""
        return pixel

    def _rows_of(self, rows: Rows, first_vector: Index) -> tuple[Rows, Index]:
        """Return tables of constants, and the number of a block's first vector in them."""
        if self.isa.has_byte_products:
            return rows, first_vector
        return [(table.after(first_vector), width) for table, width in rows], 0

    def _start(self, section: Section, first: Index, vector: Index, bias: Vector) -> Vector:
        """Return the starting value of a vector's sums in the tile that begins with a pixel."""
        del section, first, vector
        return bias

    def _finish(
        self,
        section: Section,
        first_vector: Index,
        pixels: Pixels,
        acc: Sums,
        conditions: Sequence[Expr] = (),
        targets: Sequence[Index] = (),
    ) -> None:
        """Write how sums of some pixels become outputs: of all pixels, or of those on a condition.

        ``targets`` are the offsets of their outputs, if the caller knows them.
        """
        lanes = self.isa.lanes
        channels = min(section.nr * lanes, self.spec.out_channels - section.first_vector * lanes)
        is_read = self._reads_channels(section)
        real = kept(self.sizes.channels - first_vector * lanes) if is_read else channels
        as_bytes = as_words = 0
        if self.residual is not None:
            # Otherwise loads of the same numbers would follow each store.
            self.residual = self.residual.reading(self.numbers)
            as_bytes = self.residual.vectors_as_bytes(section.nr, channels)
            as_words = self.residual.vectors_as_words(section.nr)
        added = AddendBlock(self.addend, first_vector, section.nr, lanes, channels)
        encodings = encodings_of(pixels, self.encoding, self.spec.fusion.encoding)
        origins: Sequence[Index] = targets
        addends: Sequence[Index] = [None] * len(acc)
        if self.addend is not None:
            # The tensor that is added has the same places. Without such a tensor, places are
            # computed after rescaling, to keep registers free.
            addends = origins = origins or self.place.origins(pixels)
        constants, number = self._rows_of(self.constants, first_vector)
        # Vector by vector, so that its constants stay in registers.
        for j in range(section.nr):
            rows = read_rows(constants, number + j)
            for start, row, encoding in zip(addends, acc, encodings, strict=True):
                addend = None
                if self.epilogue.float_sum is None and j >= max(as_bytes, as_words):
                    addend = added.vector(start, j)
                self._emit(rows, row[j], encoding or addend)
        # Now pixel by pixel: vector by vector, constants of both would not stay in registers.
        for start, row in zip(addends, acc, strict=True):
            if self.epilogue.float_sum is not None:
                for j, vector in enumerate(row):
                    value = get_lanes(vector, lanes)
                    value = self.epilogue.float_sum.emit(value, added.vector(start, j))
                    set_lanes(vector, value, lanes)
            if self.residual is not None:
                for j in range(as_bytes, as_words, 2):
                    pair = row[j : j + 2]
                    values = [get_lanes(vector, lanes) for vector in pair]
                    sums = self.residual.add_to_words(values, added.words(start, j))
                    for vector, value in zip(pair, sums, strict=True):
                        set_lanes(vector, value, lanes)
        narrowed = self._narrowed(section, acc)
        origins = origins or self.place.origins(pixels)
        for i, (start, row) in enumerate(zip(addends, acc, strict=True)):
            vectors = [get_lanes(vector, lanes) for vector in row]
            ends = []
            if self.residual is not None:
                ends = [
                    self.residual.add_to_bytes(vectors[j : j + 4], added.four_vectors(start, j))
                    for j in range(0, as_bytes, 4)
                ]
            ends += narrowed[i : i + 1]
            with ExitStack() as branch:
                if conditions:
                    branch.enter_context(T.If(conditions[i]))
                    branch.enter_context(T.Then())
                outputs = first_vector, vectors, real, ends, self.zero_point
                store_pixel(self.spec, self.target, origins[i], *outputs)

    def _narrowed(self, section: Section, acc: Sums) -> list[Vector]:
        """Return all outputs of the first pixels, as bytes, if pixels are narrowed together."""
        del section, acc
        return []

    def _emit(self, rows: list[Vector], vector: Buffer, addend: Vector | None = None) -> None:
        lanes = self.isa.lanes
        value = self.epilogue.emit(get_lanes(vector, lanes), rows, addend)
        if self.residual is not None and addend is not None:
            value = self.residual.add(value, addend)
        set_lanes(vector, value, lanes)

    def _accumulate(self, section: Section, first_vector: Index, first: Index, acc: Sums) -> None:
        """Write the sums of products of a tile, if tiles are summed separately."""

    def _origins(self, section: Section, first: Index) -> Origins:
        """Return the offsets at which the pixels of a tile read."""
        if self._is_in_line(section):
            begin = address(self._first_byte(first))
            return Origins([begin], multiples(self.sizes.pixel, section.mr))
        pixels = [first + i for i in range(section.mr)]
        return Origins([address(self._first_byte(pixel)) for pixel in pixels], [0] * len(pixels))

    def _is_in_line(self, section: Section) -> bool:
        """Tell whether the pixels of a tile read at equal distances."""
        if not self._is_any_window:
            return lies_in_line(self.spec, section.mr) and not self._is_down
        line = self.spec.out_height if self._is_down else self.spec.out_width
        is_pitched = self.spec.pixel_pitch is not None and not self._is_down
        return line % section.mr == 0 or (is_pitched and section.mr > _MOST_ADDRESSES)

    def _first_byte(self, pixel: Index) -> Index:
        """Return the offset of the first byte that an output pixel reads."""
        sizes = self.sizes
        if self.spec.pixel_pitch is not None and not self._is_down and not self._is_any_window:
            return pixel * sizes.pixel
        y, x = parts(pixel, sizes.line, sizes.by_line)
        if self.spec.batch == 1:
            return y * sizes.row + x * sizes.pixel
        image, y = parts(y, sizes.lines, sizes.by_lines)
        return image * sizes.image + y * sizes.row + x * sizes.pixel

    def _places(self, origins: Origins, offset: Index) -> list[Index]:
        """Return the offsets of the bytes at a distance from where the pixels of a tile read."""
        begins, steps = origins.begins, origins.steps
        if self.shares_sizes and len(begins) == 1 and len(steps) > _MOST_ADDRESSES:
            # Otherwise LLVM keeps an address for each pixel, and spills some.
            return Origins([address(begins[0] + offset)], steps).plus(0)
        return origins.plus(offset)
