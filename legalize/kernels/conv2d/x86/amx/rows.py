"""Dense layers of open rows in AMX's tiles: each run says how many rows there are.

The plan is that of many rows. If a run has fewer rows than a tile, its tiles have only these rows:
their number is part of the tiles' configuration. A few rows take less time in vectors, which read
the weights where they lie for tiles.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from functools import cached_property, partial
from itertools import chain
from typing import Any

from tvm import tirx
from tvm.script.ir_builder import tirx as T

from legalize.kernels.conv2d.plan import Weights
from legalize.kernels.conv2d.spec import ConvSpec
from legalize.kernels.conv2d.tiling import Section
from legalize.kernels.conv2d.x86.amx.cost import nanoseconds
from legalize.kernels.conv2d.x86.amx.kernel import TILES_OF_ROWS, TileKernel
from legalize.kernels.conv2d.x86.amx.plan import TilePlan, plan
from legalize.kernels.conv2d.x86.amx.sizes import TurnSizes
from legalize.kernels.conv2d.x86.epilogue.base import Epilogue
from legalize.kernels.ir.tasks import TASKS_OF_ROWS, TYPICAL_ROWS, fewest_shared, shared_loop
from legalize.kernels.ir.vectors import (
    DWORD,
    Array,
    Index,
    Sums,
    get_lanes,
    kept,
    local_vector,
    set_lanes,
    splat,
    unsigned_min,
)
from legalize.kernels.isa import amx
from legalize.kernels.isa.x86 import Isa
from qnn_ops.dialect.sizes import Size

# Up to this many rows take less time in vectors.
_FEW = 3
# Up to this many sums, products wait for the ones before.
_FEW_SUMS = 4


def plan_tiled_rows(spec: ConvSpec, isa: Isa, weights: Weights, most: float) -> TileRowsPlan | None:
    """Plan a dense layer of open rows; None if tiles cannot serve it, or cost more than ``most``.

    The cost is that of ``TYPICAL_ROWS`` rows.
    """
    many = plan(replace(spec, batch=TYPICAL_ROWS), isa, weights, most)
    if many is None or many.copied:
        return None
    named = {field.name: getattr(many, field.name) for field in fields(many)}
    return TileRowsPlan(**{**named, "spec": replace(many.spec, batch=spec.batch)})


@dataclass(frozen=True)
class TileRowsPlan(TilePlan):
    """A dense layer of open rows, in tiles for ``TYPICAL_ROWS`` rows."""

    @cached_property
    def places(self) -> dict[str, Array]:
        """Return no tables: each run computes places from its number of rows."""
        return {}

    def is_by_pixels(self, section: Section) -> bool:
        """Return False: few rows are fewer turns of a block than there are threads."""
        return False

    def kernel(self, epilogue: Epilogue, known: None) -> TileRowsKernel:
        """Make the writer of a function of chunks."""
        return TileRowsKernel(self, epilogue)


class TileRowsKernel(TileKernel):
    """The writer of loops over the rows that a run has."""

    def __init__(self, plan: TileRowsPlan, epilogue: Epilogue) -> None:
        """Write a plan's function."""
        super().__init__(plan, epilogue)
        # The number of rows is a variable of this function alone.
        self.count = tirx.Var("rows", "int64")
        rows: Any = Size(self.count)
        self.spec = replace(plan.spec, batch=rows)
        # A slot has no more rows than the smallest run in tiles.
        assert all(plan.slots(section).rows <= _FEW + 1 for section in plan.tiling)

    def _microseconds(self) -> float:
        return nanoseconds(replace(self.plan, spec=replace(self.spec, batch=TYPICAL_ROWS))) / 1000

    def _task_count(self) -> int:
        return TASKS_OF_ROWS

    def _loops(self) -> None:
        rows = kept(T.Cast("int32", T.min(self.count, T.int64(amx.ROWS))))
        self.cut = self.cut._replace(rows=rows)
        few, shared = T.int64(_FEW), T.int64(fewest_shared(self._microseconds()))
        with T.If(self.count <= few):
            with T.Then():
                self._in_vectors()
            with T.Else(), T.If(self.count < shared):
                with T.Then(), self._task():
                    for section in self.tiling:
                        self._whole(section)
                with T.Else():
                    super()._loops()

    def _in_vectors(self) -> None:
        """Write the loops over blocks of channels in vectors, for each small number of rows."""
        fewest = fewest_shared(self._microseconds())
        for rows in range(1, _FEW + 1):
            tasks = TASKS_OF_ROWS if rows >= fewest else 1
            with T.If(self.count == T.int64(rows)), T.Then():
                for section in self.tiling:
                    tile = partial(self._first_rows, replace(section, mr=rows))
                    shared_loop(tasks, T.int64(section.blocks), tile)

    def _first_rows(self, section: Section, block: Index) -> None:
        self._tile(section, block, T.int64(0))

    def _accumulate(self, section: Section, first_vector: Index, first: Index, acc: Sums) -> None:
        """Write the sums of a few rows in vectors."""
        products, chunk, nr = self.products, self.plan.chunk, section.nr
        lanes, piece = products.lanes, chunk * products.lanes
        k_steps = chunk // DWORD
        # Few sums are each in two parts, which do not wait for each other.
        parts = 2 if section.mr * nr <= _FEW_SUMS and k_steps % 2 == 0 else 1
        others = [[local_vector(lanes) for _ in row] for row in acc] if parts > 1 else []
        for vector in chain.from_iterable(others):
            set_lanes(vector, splat("int32", 0, lanes), lanes)
        start = first_vector * self.vector_stride
        with T.serial(self.plan.chunks) as number, T.serial(k_steps // parts) as turn:
            begin = unsigned_min(number * chunk, self.plan.run_length - chunk)
            for part, sums in enumerate([acc, others][:parts]):
                k = turn * parts + part
                k_step = kept(start + number * (nr * piece) + k * products.part_size)
                places = [k_step + j * piece for j in range(nr)]
                weights = [kept(products.load_weights(self.weights, each)) for each in places]
                for i, row in enumerate(sums):
                    place = (first + i) * self.plan.pitch + begin + k * DWORD
                    (data,) = map(kept, products.load_data(self.source, place))
                    for vector, factor in zip(row, weights, strict=True):
                        total = products.multiply_add(get_lanes(vector, lanes), data, factor)
                        set_lanes(vector, total, lanes)
        for row, other in zip(acc if others else [], others, strict=True):
            for vector, part_of in zip(row, other, strict=True):
                set_lanes(vector, get_lanes(vector, lanes) + get_lanes(part_of, lanes), lanes)

    def _configure(self) -> None:
        # Tiles of data and sums have the run's rows.
        size = amx.CONFIGURATION_BYTES
        own = T.alloc_buffer((size,), "uint8", scope="global")
        T.buffer_store(own, self.configuration[T.ramp(0, 1, size)], [T.ramp(0, 1, size)])
        for tile in TILES_OF_ROWS:
            T.buffer_store(own, T.Cast("uint8", self.cut.rows), [amx.ROWS_AT + tile])
        amx.configure(own)

    def _fetch_next(
        self, section: Section, first_vector: Index, turn: Index
    ) -> Callable[[Index], None]:
        return lambda chunk: None

    def _turns_in(self, section: Section) -> TurnSizes:
        tiles = T.truncdiv(self.count + (amx.ROWS - 1), T.int64(amx.ROWS))
        at_once = self.plan.tiles_at_once(section)
        turns = T.truncdiv(tiles + (at_once - 1), T.int64(at_once))
        return super()._turns_in(section)._replace(turns=kept(T.Cast("int32", turns)))

    def _first_tile(self, tile: Index, at_once: int) -> Index:
        return tile

    def _first_pixel(self, tile: Index) -> Index:
        # Tiles past the last row repeat the last rows.
        last = self.count - T.Cast("int64", self.cut.rows)
        return unsigned_min(T.Cast("int64", tile) * T.int64(amx.ROWS), last)

    def _writes_over_addend(self) -> bool:
        return False
