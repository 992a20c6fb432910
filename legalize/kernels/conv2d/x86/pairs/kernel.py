"""Convolution of uint8 data with weights that are cut for vpmaddubsw.

This is like ../kernel.py, but constants list the K-steps of a block of channels: their offsets, the
order in which they take their four bytes, and which of them are added in 16 bits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tvm.script.ir_builder import tirx as T

from legalize.kernels.conv2d.tiling import Section
from legalize.kernels.conv2d.x86.epilogue.base import Epilogue
from legalize.kernels.conv2d.x86.kernel import ConvKernel
from legalize.kernels.conv2d.x86.pairs.weights import K_STEP_KINDS, KStepKind, ListedKSteps
from legalize.kernels.ir.vectors import DWORD, Index, Sums, get_lanes, kept, set_lanes
from legalize.kernels.isa.x86 import Isa, PairProducts

if TYPE_CHECKING:
    from legalize.kernels.conv2d.x86.plan import Plan

# TVM's annotation of a buffer that is read anew each time.
_VOLATILE = "tirx.volatile"
# Registers beside accumulators and weights: data of two K-steps, a sum, and two for LLVM.
_REGISTERS = 5


class PairsKernel(ConvKernel):
    """The buffers of one function, and the writer of its loops."""

    def __init__(self, plan: Plan, epilogue: Epilogue, k_steps: ListedKSteps) -> None:
        """Write a plan's function, of listed K-steps."""
        self.k_steps = k_steps
        self.pairs = PairProducts(plan.products.isa)
        super().__init__(plan, epilogue)

    def _k_steps_of_block(self) -> int:
        return self.k_steps.count

    def _declare_k_steps(self) -> None:
        blocks = sum(section.blocks for section in self.tiling)
        self.places = self.tables.parameter("places", (blocks, self.k_steps.count), "int32")
        self.loops = self.tables.parameter("loops", (blocks, len(K_STEP_KINDS), 2), "int32")
        if self.k_steps.has_orders:
            self.orders = self.tables.parameter(
                "orders", (blocks, self.k_steps.count, DWORD), "uint8"
            )

    def _accumulate(self, section: Section, first_vector: Index, first: Index, acc: Sums) -> None:
        origins = self._origins(section, first).plus(0)
        earlier = self.tiling[: self.tiling.index(section)]
        number = T.truncdiv(first_vector - section.first_vector, section.nr)
        block = number + sum(part.blocks for part in earlier)
        start = first_vector * self.vector_stride
        slot = T.alloc_buffer((1,), "int64", scope="global", annotations={_VOLATILE: True})
        for number, kind in enumerate(K_STEP_KINDS):
            if self.k_steps.kinds[number]:
                with T.serial(self.loops[block, number, 1]) as turn:
                    k_step = self.loops[block, number, 0] + turn * kind.at_once
                    self._turn(section, kind, block, k_step, start, origins, acc, slot)

    def _turn(
        self,
        section: Section,
        kind: KStepKind,
        block: Index,
        k_step: Index,
        start: Index,
        origins: list[Index],
        acc: Sums,
        slot: Index,
    ) -> None:
        """Write the products of the K-steps that are added in 16 bits, from ``k_step`` on."""
        pairs, nr, at_once = self.pairs, section.nr, kind.at_once
        k_steps = [k_step + i for i in range(at_once)]
        places = [kept(T.Cast("int64", self.places[block, k])) for k in k_steps]
        weights = kept(T.Cast("int64", start + k_step * (nr * pairs.part_size)))
        near = _weights_in_registers(self.isa, section, kind)
        if near < at_once * nr:
            T.buffer_store(slot, weights, [0])
        for origin, row in zip(origins, acc, strict=True):
            offsets = [origin + place for place in places]
            if kind.is_ordered:
                orders = [self.orders[block, k, T.ramp(0, 1, DWORD)] for k in k_steps]
                listed = zip(offsets, orders, strict=True)
                data = [pairs.load_ordered(self.source, *place) for place in listed]
            else:
                data = [pairs.load_data(self.source, offset)[0] for offset in offsets]
            again = kept(slot[0]) if near < at_once * nr else weights
            for j, vector in enumerate(row):
                factors = []
                for i in range(at_once):
                    place = weights if j * at_once + i < near else again
                    place = place + (i * nr + j) * pairs.part_size
                    factors.append(pairs.load_weights(self.weights, place))
                total = get_lanes(vector, pairs.lanes)
                set_lanes(vector, pairs.multiply_add_bytes(total, data, factors), pairs.lanes)


def _weights_in_registers(isa: Isa, section: Section, kind: KStepKind) -> int:
    """Count the vectors of weights that all pixels of a tile take from registers.

    The weights of one K-step always fit. LLVM would keep all weights of two K-steps in registers,
    and spill accumulators. So the other weights are read at an address that LLVM cannot prove to be
    the same for every pixel: then the product itself reads them from memory, as it does for a
    single pixel. With SSE4.1, whose products overwrite an operand, these reads take longer than
    accumulators in memory.
    """
    vectors = kind.at_once * section.nr
    if kind.at_once == 1 or isa.lanes == 4 or section.mr == 1:
        return vectors
    left = max(isa.registers - section.mr * section.nr - _REGISTERS, 0)
    # A vector of channels takes the weights of both K-steps, if there is room for two.
    return min(left if left < 2 else left - left % 2, vectors)
