"""Convolution of int8 data with int8 weights.

A tile of output pixels × channels is summed in registers, then rescaled, narrowed and stored:

    for each task                               in parallel, if there is work for several
      for each block of output channels         its weights stay in the cache
        for each tile of output pixels          numbered through rows and images
          accumulators = bias
          for each run of bytes, each piece of it
            for each K-step of a few bytes
              accumulators += data · weights
          store(narrow(requantize(accumulators)))
"""

from functools import cache, partial

from tvm import tirx
from tvm.script.ir_builder import tirx as T

from legalize.kernels.conv2d.arm.epilogue import Epilogue, store_channels
from legalize.kernels.conv2d.arm.pixel_sums import window_sum
from legalize.kernels.conv2d.arm.runs import Piece, k_step_bytes, pieces
from legalize.kernels.conv2d.arm.tiling import accumulators, microseconds, vectors_of
from legalize.kernels.conv2d.constants import window_sums
from legalize.kernels.conv2d.spec import ConvSpec
from legalize.kernels.conv2d.taps import Taps, range_of, with_left_out
from legalize.kernels.conv2d.tiling import (
    Section,
    TileLoops,
    Tiling,
    origins_of,
    tiles_of,
)
from legalize.kernels.ir.tables import Tables
from legalize.kernels.ir.tasks import loop_between, task_count
from legalize.kernels.ir.vectors import (
    Buffer,
    Index,
    Sums,
    Vector,
    get_lanes,
    kept,
    local_vector,
    set_lanes,
)
from legalize.kernels.isa.arm import REGISTER_BYTES, Isa
from legalize.kernels.isa.neon import LANES, paired
from legalize.written import flat, new_function


@cache
def conv2d(
    spec: ConvSpec,
    isa: Isa,
    epilogue: Epilogue,
    tiling: Tiling,
    taps: Taps | None = None,
    *,
    has_sums: bool,
) -> tirx.PrimFunc:
    """Build the function that computes a convolution.

    The target must have the features of the instruction set.

    Args:
        spec: the convolution.
        isa: from ``pack_conv2d``, like the following arguments.
        epilogue: how accumulators become outputs.
        tiling: the tiles.
        taps: the rows of the kernel that tiles multiply; None for all.
        has_sums: whether the kernel's zero point takes the sums of the data.

    Returns:
        A function of the data, int8 of ``spec.staged_shape``; the ``constants`` of
        ``pack_conv2d`` in order; and the output, ``spec.output.dtype`` of ``spec.out_shape``.
    """
    kernel = ArmKernel(spec, isa, epilogue, tiling, taps)
    return kernel.build(has_sums=has_sums)


class ArmKernel(TileLoops):
    """The buffers of one function, and the writer of its loops."""

    def __init__(
        self, spec: ConvSpec, isa: Isa, epilogue: Epilogue, tiling: Tiling, taps: Taps | None = None
    ) -> None:
        """Prepare a function with the arguments of ``conv2d``."""
        self.spec = spec
        self.isa = isa
        self.epilogue = epilogue
        self.tiling = tiling
        self.taps = taps
        self.ranges: Buffer | None = None
        self.before: Buffer | None = None
        self.tasks = task_count(microseconds(spec, isa, tiling, taps))
        self.pieces = pieces(spec.run_length, isa)
        k_steps = len(k_step_bytes(spec.run_length, isa))
        self.vector_bytes = LANES // isa.channels * REGISTER_BYTES
        self.vector_stride = spec.runs * k_steps * self.vector_bytes
        self.k_steps = k_steps

    def build(self, *, has_sums: bool) -> tirx.PrimFunc:
        """Write the function."""
        # Without "noalias" the rescaling's loads stay where they are used. With it LLVM lifts
        # them out of the loop over tiles, and spills them.
        with new_function("conv2d", noalias=False) as builder:
            self._declare(has_sums=has_sums)
            self._loops()
        return builder.get()

    @property
    def _pixels(self) -> Index:
        return self.spec.out_pixels

    def _declare(self, *, has_sums: bool) -> None:
        spec = self.spec
        vectors = vectors_of(spec)
        self.tables = Tables()
        data = T.arg("data", T.buffer(spec.staged_shape, "int8"))
        self.weights = T.arg("weights", T.buffer((vectors * self.vector_stride,), "int8"))
        self.bias = self.tables.parameter("bias", (vectors, LANES), "int32")
        zero_point = T.arg("kernel_zero_point", T.buffer((1,), "int32")) if has_sums else None
        self.rows = self.epilogue.declare(self.tables, vectors)
        if self.taps is not None:
            tiles = sum(tiles_of(spec, section) for section in self.tiling)
            self.ranges = self.tables.parameter("ranges", (tiles, 2), "uint8")
            if spec.staged_zero_point:
                shape = (spec.kernel_height + 1, vectors, LANES)
                self.before = self.tables.parameter("before", shape, "int32")
        output = T.arg("output", T.buffer(spec.out_shape, spec.output.dtype))
        self.tables.flatten()
        self.source, self.target = flat(data), flat(output)
        self.sums = None
        if zero_point is not None:
            window = partial(window_sum, spec, self.isa, self.source)
            self.sums = window_sums(spec, window, zero_point, self.tasks)

    def _tile(self, section: Section, block: Index, first: Index) -> None:
        """Write the computation of one tile, whose first pixel is ``first``."""
        spec, isa = self.spec, self.isa
        first_vector = section.first_vector + block * section.nr
        rows, columns = accumulators(isa, section.nr, section.mr)
        acc = [[local_vector(LANES) for _ in range(columns)] for _ in range(rows)]
        self._begin(section, first_vector, first, acc)
        self._accumulate(section, first_vector, first, acc)
        outputs = self._outputs(section, first, acc)
        for j in range(section.nr):
            constants = [kept(row[first_vector + j, T.ramp(0, 1, LANES)]) for row in self.rows]
            for pixel in outputs:
                value = self.epilogue.emit(isa.neon, get_lanes(pixel[j], LANES), constants)
                set_lanes(pixel[j], value, LANES)
        channels = section.nr * LANES
        if section.blocks == 1:
            channels = min(channels, spec.out_channels - section.first_vector * LANES)
        for i, pixel in enumerate(outputs):
            vectors = [get_lanes(vector, LANES) for vector in pixel]
            start = (first + i) * spec.out_channels + first_vector * LANES
            shift = self.epilogue.narrowing_shift
            store_channels(spec, isa.neon, self.target, start, vectors, channels, shift)

    def _begin(self, section: Section, first_vector: Index, first: Index, acc: Sums) -> None:
        """Set the accumulators to the terms that are added to the products."""
        per_vector = LANES // self.isa.channels
        for j in range(section.nr):
            bias = kept(self._start(section, first, first_vector + j))
            for i, row in enumerate(acc):
                if per_vector == 1:
                    start = bias
                    if self.sums is not None:
                        start = bias - T.broadcast(self.sums[first + i], LANES)
                    set_lanes(row[j], start, LANES)
                    continue
                for part in range(per_vector):
                    pair = [2 * part, 2 * part + 1] * 2
                    set_lanes(row[per_vector * j + part], T.Shuffle([bias], pair), LANES)

    def _start(self, section: Section, first: Index, vector: Index) -> Vector:
        """Return the bias of a vector of channels, plus the terms of kernel rows left out."""
        start = self.bias[vector, T.ramp(0, 1, LANES)]
        if self.before is None:
            return start
        return with_left_out(start, self.before, self._rows(section, first), vector, LANES)

    def _rows(self, section: Section, first: Index) -> tuple[Index, Index]:
        """Return the kernel rows that a tile multiplies, first and end."""
        if self.ranges is None:
            return 0, self.spec.kernel_height
        earlier = self.tiling[: self.tiling.index(section)]
        before = sum(tiles_of(self.spec, each) for each in earlier)
        return range_of(self.ranges, before, section, first)

    def _outputs(self, section: Section, first: Index, acc: Sums) -> Sums:
        """Return the accumulators as vectors of four channels, by pixel."""
        if self.isa.pixels == 1:
            return acc
        outputs = []
        for i, row in enumerate(acc):
            for p in range(2):
                vectors = []
                for j in range(section.nr):
                    pair = [get_lanes(row[2 * j + part], LANES) for part in range(2)]
                    value = T.reinterpret("int32x4", paired(pair, p))
                    if self.sums is not None:
                        value = value - T.broadcast(self.sums[first + 2 * i + p], LANES)
                    vectors.append(local_vector(LANES))
                    set_lanes(vectors[-1], value, LANES)
                outputs.append(vectors)
        return outputs

    def _accumulate(self, section: Section, first_vector: Index, first: Index, acc: Sums) -> None:
        spec = self.spec
        origins = origins_of(spec, first, section.mr)
        taps = spec.runs_per_row
        per_k_step = section.nr * self.vector_bytes
        size = self.pieces[0].size
        whole = spec.run_length // size
        k_steps = size // self.isa.depth

        def add_run(ky: Index, kx: Index) -> None:
            run = spec.run_start(ky, kx)
            start = first_vector * self.vector_stride + (ky * taps + kx) * self.k_steps * per_k_step
            with T.serial(whole) as number:
                places = origins.plus(run + number * size)
                self._piece(self.pieces[0], places, start + number * k_steps * per_k_step, acc)
            for piece in self.pieces[whole:]:
                places = origins.plus(run + piece.offset)
                self._piece(piece, places, start + whole * k_steps * per_k_step, acc)

        rows = self._rows(section, first)
        loop_between(*rows, lambda ky: loop_between(0, taps, partial(add_run, ky)))

    def _piece(self, piece: Piece, places: list[Index], start: Index, acc: Sums) -> None:
        """Multiply one loaded piece of each pixel."""
        isa = self.isa
        loaded = [kept(self.source[T.ramp(place, 1, piece.size)]) for place in places]
        operands = [
            isa.operands(loaded[i : i + isa.pixels]) for i in range(0, len(loaded), isa.pixels)
        ]
        columns = len(acc[0])
        for k_step in range(piece.first, piece.size // isa.depth):
            for j in range(columns):
                place = start + ((k_step - piece.first) * columns + j) * REGISTER_BYTES
                weights = kept(self.weights[T.ramp(place, 1, REGISTER_BYTES)])
                for row, values in zip(acc, operands, strict=True):
                    total = isa.multiply_add(get_lanes(row[j], LANES), values[k_step], weights)
                    set_lanes(row[j], total, LANES)
