"""Products of matrices on x86: dense layers whose weights are packed first.

    for each product                        in parallel, if there is work for several
      weights = packed(rhs)
      bias = constants − zx · the sums of columns
      for each block of columns, and tile of rows, as in a dense layer

The packed matrix is the one whose columns are the units.
"""

from dataclasses import dataclass
from functools import cache, partial

import numpy as np
from tvm import tirx
from tvm.script.ir_builder import tirx as T

from legalize.kernels.conv2d.constants import deal, window_sums
from legalize.kernels.conv2d.spec import ConvSpec
from legalize.kernels.conv2d.tiling import Section
from legalize.kernels.conv2d.x86.dot.kernel import DotKernel
from legalize.kernels.conv2d.x86.dot.plan import DotPlan, products_of
from legalize.kernels.conv2d.x86.epilogue.base import Epilogue, Rows, Scales, declare_rows
from legalize.kernels.conv2d.x86.epilogue.choose import choose_epilogue
from legalize.kernels.conv2d.x86.pixel_sums import window_sum
from legalize.kernels.conv2d.x86.tiling import choose_tiling, lane_channels
from legalize.kernels.ir.tables import Table, Tables
from legalize.kernels.ir.tasks import shared_loop
from legalize.kernels.ir.vectors import (
    Array,
    Buffer,
    Index,
    Vector,
    get_lanes,
    local_vector,
    set_lanes,
)
from legalize.kernels.isa.x86 import Isa
from legalize.kernels.matmul.pack import SIDE, SQUARE, Layout, Packer
from legalize.kernels.matmul.rows import product_rows, staged
from legalize.kernels.matmul.spec import MatmulCall, MatmulSpec
from legalize.written import flat, own_sizes


@dataclass(frozen=True)
class MatmulPlan:
    """A product on an instruction set.

    Attributes:
        spec: the product.
        dense: a plan for all rows, with the tiles of one product.
        epilogues: ends of the kernel, with a table of addends and constants each.
    """

    spec: MatmulSpec
    dense: DotPlan
    epilogues: tuple[Epilogue, ...]


def plan_matmul(call: MatmulCall, isa: Isa) -> tuple[MatmulPlan, tuple[Array, ...]]:
    """Plan a product.

    Returns:
        The plan, and the constants that its function takes after the matrices.
    """
    spec = call.spec
    dense = spec.dense("uint8")
    products = products_of(dense, isa)
    tiling = choose_tiling(dense, products)
    lanes = lane_channels(dense, isa, tiling)
    scales = Scales(
        *(call.multiplier, call.shift, call.bias),
        spec.depth * spec.largest + int(np.abs(call.bias).max()),
    )
    chosen = choose_epilogue(dense.output, scales, lanes)
    constant = call.bias.astype(np.int64) + chosen.offset
    if isa.has_byte_products:
        constant = constant + spec.depth * dense.staged_zero_point * spec.signed_zero_point
    plan = DotPlan(spec.all_rows(dense), products, tiling, 0.0)
    constants = deal(constant.astype(np.int32), lanes), *chosen.arrays
    return MatmulPlan(spec, plan, (chosen.epilogue,)), constants


@cache
def matmul(plan: MatmulPlan) -> tirx.PrimFunc:
    """Build the function of a plan.

    Returns:
        A function of lhs, rhs, the constants and the result.
    """
    return _Kernel(plan).build()


class MatmulKernel(DotKernel):
    """What kernels of known and of open sizes have in common."""

    def __init__(self, plan: MatmulPlan) -> None:
        self.matmul, self.epilogues = plan.spec, plan.epilogues
        self.k_steps: Index = 0
        super().__init__(plan.dense, plan.epilogues[0])

    def _arguments(self) -> tuple[Buffer, Buffer, Buffer]:
        """Declare the arguments, and return those of lhs, rhs and the output."""
        matmul = self.matmul = self.matmul.with_shapes(partial(own_sizes, own={}))
        lanes, self.tables = self.isa.lanes, Tables()
        lhs = T.arg("lhs", T.buffer(matmul.lhs_shape, matmul.lhs_dtype))
        rhs = T.arg("rhs", T.buffer(matmul.rhs_shape, matmul.rhs_dtype))
        vectors = self.isa.vectors(self.spec.out_channels)
        self.ways: list[tuple[Epilogue, Table, Rows]] = []
        for epilogue in self.epilogues:
            addends = self.tables.parameter("addends", (vectors, lanes), "int32")
            constants = declare_rows(epilogue, self.tables, vectors, lanes)
            self.ways.append((epilogue, addends, constants))
        output = T.arg("output", T.buffer(matmul.out_shape, self.spec.output.dtype))
        self.tables.flatten()
        self.addend = self.sums = None
        self._take(0)
        return lhs, rhs, output

    def _take(self, way: int) -> None:
        """Set the epilogue of the next tiles."""
        self.epilogue, _, self.constants = self.ways[way]
        self.zero_point = self.epilogue.zero_point_left

    def _addends(self, place: tuple[Index, Index]) -> Vector:
        """Return the constants that are added to sums of some columns."""
        return self.ways[0][1][place]

    def _add_up(self, section: Section, first_vector: Index, number: Index) -> None:
        """Write the bias of a vector of columns."""
        products, lanes = self.products, self.isa.lanes
        place = first_vector + number, T.ramp(0, 1, lanes)
        bias = self._addends(place)
        point = self.spec.staged_zero_point
        if point:
            total = local_vector(lanes)
            set_lanes(total, T.broadcast(T.int32(0), lanes), lanes)
            start = first_vector * self.vector_stride + number * (lanes * SIDE)
            ones = self._ones()
            with T.serial(self.k_steps) as k_step:
                index = start + k_step * (section.nr * lanes * SIDE)
                for part in range(products.parts):
                    factors = products.load_weights(self.weights, index + part * products.part_size)
                    value = products.multiply_add(get_lanes(total, lanes), ones, factors)
                    set_lanes(total, value, lanes)
            bias = bias - get_lanes(total, lanes) * T.broadcast(T.int32(point), lanes)
        self.bias.store(bias, place)

    def _ones(self) -> Vector:
        if self.products.parts > 1:
            return T.broadcast(T.int16(1), 2 * self.isa.lanes)
        return T.broadcast(T.uint8(1), SIDE * self.isa.lanes)

    def _store_bytes(self, square: Vector, start: Index, place: Index) -> None:
        T.buffer_store(self.weights, square, [T.ramp(start + place * SQUARE, 1, SQUARE)])


class _Kernel(MatmulKernel):
    """The buffers of one function, and the writer of its loops."""

    def _task_count(self) -> int:
        return super()._task_count() if self.matmul.batches > 1 else 1

    def _declare(self) -> None:
        spec, matmul = self.spec, self.matmul
        lhs, rhs, output = self._arguments()
        self.source = staged(lhs, spec, self.tasks)
        self.rhs, self.target = flat(rhs), flat(output)
        self.k_steps = self._k_steps_of_block()
        self.vector_stride = self.k_steps * self.isa.lanes * spec.k_step
        if spec.has_asymmetric_kernel and self.isa.has_byte_products:
            point = [T.int32(matmul.signed_zero_point)]
            window = partial(window_sum, spec, self.isa, self.source)
            self.sums = window_sums(spec, window, point, self.tasks)

    def _loops(self) -> None:
        shared_loop(self.tasks, self.matmul.batches, self._product)

    def _product(self, batch: Index) -> None:
        """Write one product."""
        lanes, vectors = self.isa.lanes, self.isa.vectors(self.spec.out_channels)
        size = vectors * self.vector_stride
        self.weights = T.alloc_buffer((size,), self.weight_dtype, scope="global")
        self.bias = Table.allocated((vectors, lanes), "int32")
        is_wide = self.products.parts > 1
        filler = self.matmul.signed_zero_point if is_wide else 0
        layout = Layout(self.tiling, lanes, _places(self.spec), filler)
        store = self._store_words if is_wide else self._store_bytes
        Packer(self.matmul, layout, self.rhs, store).pack(batch)
        for section in self.tiling:
            with T.serial(section.blocks) as block:
                vector = section.first_vector + block * section.nr
                with T.serial(section.nr) as number:
                    self._add_up(section, vector, number)
        product_rows(self.matmul.rows, self.tiling, batch, self._tile)

    def _store_words(self, square: Vector, start: Index, place: Index) -> None:
        """Write even and odd values separately, less the zero point."""
        half = SQUARE // 2
        point = T.broadcast(T.int16(self.matmul.signed_zero_point), half)
        for part in (0, 1):
            values = T.Shuffle([square], list(range(part, SQUARE, 2)))
            index = start + part * self.products.part_size + place * half
            words = T.Cast(f"int16x{half}", values) - point
            T.buffer_store(self.weights, words, [T.ramp(index, 1, half)])

    def _share_of(self, section: Section) -> int:
        return 0  # nothing is fetched ahead: the weights were just packed


def _places(spec: ConvSpec) -> Array:
    """Return the indices of a column's values in each K-step: see ``Layout``."""
    steps = np.arange(spec.k_steps_per_run)[:, None] * SIDE + np.arange(SIDE)
    late = steps[-1] - (steps[-1, -1] - spec.run_length + 1)
    steps[-1] = np.where(late < steps[-1, 0], -1, late)
    return steps
