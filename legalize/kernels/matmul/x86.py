"""Products of matrices on x86: dense layers whose weights are packed first.

    for each product                        in parallel, if there is work for several
      weights = packed(rhs)
      bias = constants − zx · the sums of columns
      for each block of columns, and tile of rows, as in a dense layer

The packed matrix is the one whose columns are the units.
"""

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
from legalize.kernels.ir.vectors import Array, Buffer, Index, Vector, get_lanes, set_lanes
from legalize.kernels.isa.x86 import Isa
from legalize.kernels.matmul.pack import SIDE, SQUARE, Layout
from legalize.kernels.matmul.rows import ProductLoops, staged
from legalize.kernels.matmul.spec import MatmulCall, MatmulSpec
from legalize.written import flat, own_sizes


def matmul(call: MatmulCall, isa: Isa) -> tuple[tirx.PrimFunc, tuple[Array, ...]]:
    """Return the function of a product on an instruction set, and the constants that it takes."""
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
    return _function(spec, plan, chosen.epilogue), constants


@cache
def _function(spec: MatmulSpec, dense: DotPlan, epilogue: Epilogue) -> tirx.PrimFunc:
    return _Kernel(spec, dense, epilogue).build()


class MatmulKernel(ProductLoops, DotKernel):
    """What kernels of known and of open sizes have in common.

    Their functions take lhs, rhs, a table of addends and constants for each epilogue, and the
    result.
    """

    def __init__(self, matmul: MatmulSpec, dense: DotPlan, *epilogues: Epilogue) -> None:
        """Write a function for a plan of all rows, which has the tiles of one product."""
        self.matmul, self.epilogues = matmul, epilogues
        self.k_steps = 0
        super().__init__(dense, epilogues[0])

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
        self.addend = self.encoding = self.sums = None
        self._take(0)
        return lhs, rhs, output

    def _take(self, way: int) -> None:
        """Set the epilogue of the next tiles."""
        self.epilogue, _, self.constants = self.ways[way]
        self.zero_point = self.epilogue.zero_point_left

    def _addends(self, place: tuple[Index, Index]) -> Vector:
        return self.ways[0][1][place]

    def _ones(self) -> Vector:
        if self.products.parts > 1:
            return T.broadcast(T.int16(1), 2 * self.isa.lanes)
        return T.broadcast(T.uint8(1), SIDE * self.isa.lanes)

    def _add_weights(self, total: Buffer, ones: Vector, place: Index) -> None:
        products = self.products
        for part in range(products.parts):
            factors = products.load_weights(self.weights, place + part * products.part_size)
            set_lanes(total, products.multiply_add(get_lanes(total), ones, factors))

    def _store(self, square: Vector, start: Index, place: Index) -> None:
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

    def _layout(self) -> Layout:
        filler = self.matmul.signed_zero_point if self.products.parts > 1 else 0
        return Layout(self.tiling, self.isa.lanes, _places(self.spec), filler)

    def _store(self, square: Vector, start: Index, place: Index) -> None:
        """Write a square; as words even and odd values separately, less the zero point."""
        if self.products.parts == 1:
            super()._store(square, start, place)
            return
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
