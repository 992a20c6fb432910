"""Products of matrices on ARM; see x86.py."""

from dataclasses import dataclass, replace
from functools import cache, partial

import numpy as np
from tvm import tirx
from tvm.script.ir_builder import tirx as T

from legalize.kernels.conv2d.arm.epilogue import Epilogue, choose_epilogue
from legalize.kernels.conv2d.arm.kernel import ArmKernel
from legalize.kernels.conv2d.arm.pack import in_vectors
from legalize.kernels.conv2d.arm.pixel_sums import window_sum
from legalize.kernels.conv2d.arm.runs import k_step_bytes
from legalize.kernels.conv2d.arm.tiling import choose_tiling, vectors_of
from legalize.kernels.conv2d.constants import window_sums
from legalize.kernels.conv2d.spec import ConvSpec
from legalize.kernels.conv2d.tiling import Section, Tiling
from legalize.kernels.ir.tables import Table, Tables
from legalize.kernels.ir.tasks import shared_loop
from legalize.kernels.ir.vectors import Array, Index, Vector, get_lanes, local_vector, set_lanes
from legalize.kernels.isa.arm import Isa, LongProducts
from legalize.kernels.isa.neon import LANES
from legalize.kernels.matmul.pack import SIDE, SQUARE, Layout, Packer
from legalize.kernels.matmul.rows import product_rows, staged
from legalize.kernels.matmul.spec import MatmulCall, MatmulSpec
from legalize.written import flat


@dataclass(frozen=True)
class MatmulPlan:
    """A product on an instruction set.

    Attributes:
        spec: the product.
        dense: all rows.
        isa: the instruction set.
        tiling: the tiles of one product.
        epilogue: the end of the kernel.
    """

    spec: MatmulSpec
    dense: ConvSpec
    isa: Isa
    tiling: Tiling
    epilogue: Epilogue


def plan_matmul(call: MatmulCall, isa: Isa) -> tuple[MatmulPlan, tuple[Array, ...]]:
    """Plan a product.

    Returns:
        The plan, and the constants that its function takes after the matrices.
    """
    spec = call.spec
    dense = spec.dense("int8")
    if isinstance(isa, LongProducts):
        isa = replace(isa, has_sums_of_two=False)
    tiling = choose_tiling(dense, isa)
    chosen = choose_epilogue(dense.output, call.multiplier, call.shift)
    constant = spec.depth * dense.staged_zero_point * spec.signed_zero_point
    addends = (call.bias.astype(np.int64) + constant).astype(np.int32)
    plan = MatmulPlan(spec, spec.all_rows(dense), isa, tiling, chosen.epilogue)
    return plan, (in_vectors(dense, addends), *(in_vectors(dense, row) for row in chosen.rows))


@cache
def matmul(plan: MatmulPlan) -> tirx.PrimFunc:
    """Build the function of a plan.

    Returns:
        A function of lhs, rhs, the constants and the result.
    """
    return _Kernel(plan).build(has_sums=plan.spec.signed_zero_point != 0)


class _Kernel(ArmKernel):
    """The buffers of one function, and the writer of its loops."""

    def __init__(self, plan: MatmulPlan) -> None:
        super().__init__(plan.dense, plan.isa, plan.epilogue, plan.tiling)
        self.matmul = plan.spec
        if plan.spec.batches == 1:
            self.tasks = 1

    def _declare(self, *, has_sums: bool) -> None:
        matmul, spec = self.matmul, self.spec
        self.tables = Tables()
        lhs = T.arg("lhs", T.buffer(matmul.lhs_shape, matmul.lhs_dtype))
        rhs = T.arg("rhs", T.buffer(matmul.rhs_shape, matmul.rhs_dtype))
        vectors = vectors_of(spec)
        self.addends = self.tables.parameter("addends", (vectors, LANES), "int32")
        self.rows = self.epilogue.declare(self.tables, vectors)
        output = T.arg("output", T.buffer(matmul.out_shape, spec.output.dtype))
        self.tables.flatten()
        self.source = staged(lhs, spec, self.tasks)
        self.rhs, self.target = flat(rhs), flat(output)
        self.sums = None
        if has_sums:
            point = [T.int32(matmul.signed_zero_point)]
            window = partial(window_sum, spec, self.isa, self.source)
            self.sums = window_sums(spec, window, point, self.tasks)

    def _loops(self) -> None:
        shared_loop(self.tasks, self.matmul.batches, self._product)

    def _product(self, batch: Index) -> None:
        """Write one product."""
        vectors = vectors_of(self.spec)
        self.weights = T.alloc_buffer((vectors * self.vector_stride,), "int8", scope="global")
        self.bias = Table.allocated((vectors, LANES), "int32")
        places = k_step_bytes(self.spec.run_length, self.isa)
        layout = Layout(self.tiling, LANES, places)
        Packer(self.matmul, layout, self.rhs, self._store).pack(batch)
        for section in self.tiling:
            with T.serial(section.blocks) as block:
                vector = section.first_vector + block * section.nr
                with T.serial(section.nr) as number:
                    self._add_up(section, vector, number)
        product_rows(self.matmul.rows, self.tiling, batch, self._tile)

    def _store(self, square: Vector, start: Index, _place: Index) -> None:
        """Write a square in the order of the products."""
        order = self.isa.order(np.arange(SQUARE, dtype=np.int8).reshape(LANES, SIDE))
        value = T.Shuffle([square], order.ravel().tolist())
        T.buffer_store(self.weights, value, [T.ramp(start, 1, SQUARE)])

    def _add_up(self, section: Section, first_vector: Index, number: Index) -> None:
        """Write the bias of a vector of columns."""
        index = T.ramp(0, 1, LANES)
        bias = self.addends[first_vector + number, index]
        point = self.spec.staged_zero_point
        if point:
            total = local_vector(LANES)
            set_lanes(total, T.broadcast(T.int32(0), LANES), LANES)
            start = first_vector * self.vector_stride + number * SQUARE
            ones = self.isa.operands([T.broadcast(T.int8(1), SIDE)])[0]
            with T.serial(self.k_steps) as k_step:
                place = start + k_step * (section.nr * SQUARE)
                weights = self.weights[T.ramp(place, 1, SQUARE)]
                value = self.isa.multiply_add(get_lanes(total, LANES), ones, weights)
                set_lanes(total, value, LANES)
            bias = bias - get_lanes(total, LANES) * T.broadcast(T.int32(point), LANES)
        self.bias.store(bias, (first_vector + number, index))
