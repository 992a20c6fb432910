"""Convolution of uint8 data with weights that are cut for vpmaddubsw.

This is like ../kernel.py, but constants list the K-steps of a block of channels: their offsets, the
order in which they take their four bytes, and which of them are added in 16 bits.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING

from tvm.script.ir_builder import tirx as T

from legalize.kernels.conv2d.tiling import Origins, Section, divided
from legalize.kernels.conv2d.x86.epilogue.base import Epilogue
from legalize.kernels.conv2d.x86.kernel import ConvKernel
from legalize.kernels.conv2d.x86.pairs.weights import K_STEP_KINDS, KStepKind, ListedKSteps
from legalize.kernels.ir.places import address
from legalize.kernels.ir.vectors import DWORD, Index, Sums, extern, get_lanes, kept, set_lanes
from legalize.kernels.isa.x86 import Isa, PairProducts

if TYPE_CHECKING:
    from legalize.kernels.conv2d.x86.plan import Plan

# The function emits no instruction. For LLVM its result is a new number that depends on the vector.
_CODE = """
define linkonce_odr hidden i64 @{name}(i64 %place, <{lanes} x i32> %vector) alwaysinline {{
  %same = call i64 asm "", "=r,0,v"(i64 %place, <{lanes} x i32> %vector) #0
  ret i64 %same
}}
attributes #0 = {{ nounwind willreturn memory(none) }}
"""
# Registers beside accumulators and weights: data of two K-steps, a sum, and two for LLVM.
_REGISTERS = 5


class PairsKernel(ConvKernel):
    """The buffers of one function, and the writer of its loops."""

    def __init__(self, plan: Plan, epilogue: Epilogue, k_steps: ListedKSteps) -> None:
        """Write a plan's function, of listed K-steps."""
        self.k_steps = k_steps
        self.pairs = PairProducts(plan.products.isa)
        self._after = f"qnn_after_{self.pairs.lanes}"
        super().__init__(plan, epilogue)

    def _k_steps_of_block(self) -> int:
        return self.k_steps.count

    @property
    def form(self) -> Hashable:
        """The facts on which the code depends; see ``ConvKernel``."""
        lines = tuple(map(self._is_in_line, self.tiling))
        return super().form, self.k_steps.kinds, lines, self.spec.pixel_pitch is None

    def _loops(self) -> None:
        code = _CODE.format(name=self._after, lanes=self.isa.lanes)
        with T.attr(T.int32(0), "pragma_import_llvm", code):
            super()._loops()

    def _declare_k_steps(self) -> None:
        blocks, is_any = sum(section.blocks for section in self.tiling), self.shares_sizes
        total = blocks * self.k_steps.count
        self.places = self.tables.parameter("places", (total,), "int32", is_any=is_any)
        kinds = blocks, len(K_STEP_KINDS), 2
        self.loops = self.tables.parameter("loops", kinds, "int32", is_any=is_any)
        if self.k_steps.has_orders:
            orders = total, DWORD
            self.orders = self.tables.parameter("orders", orders, "uint8", is_any=is_any)

    def _accumulate(self, section: Section, first_vector: Index, first: Index, acc: Sums) -> None:
        origins = self._origins(section, first)
        block = kept(self._block(section, first_vector))
        begin = kept(block * divided(self.sizes.vector, self.pairs.part_size))
        start = first_vector * self.vector_stride
        for number, kind in enumerate(K_STEP_KINDS):
            if self.k_steps.kinds[number]:
                with T.serial(self.loops[block, number, 1]) as turn:
                    k_step = self.loops[block, number, 0] + turn * kind.at_once
                    self._turn(section, kind, begin, k_step, start, origins, acc)

    def _block(self, section: Section, first_vector: Index) -> Index:
        """Return the number of the block that begins with a vector of a section."""
        number = T.truncdiv(first_vector - self._vector_of(section), section.nr)
        earlier = self.tiling[: self.tiling.index(section)]
        return sum((self._blocks_of(part) for part in earlier), number)

    def _turn(
        self,
        section: Section,
        kind: KStepKind,
        begin: Index,
        k_step: Index,
        start: Index,
        origins: Origins,
        acc: Sums,
    ) -> None:
        """Write the products of the K-steps that are added in 16 bits, from ``k_step`` on.

        ``begin`` is the place of the block's first K-step in the lists, and ``start`` the offset of
        its weights.
        """
        pairs, nr, at_once = self.pairs, section.nr, kind.at_once
        listed = address(begin + k_step)
        places = [kept(T.Cast("int64", self.places[listed + i])) for i in range(at_once)]
        weights = kept(T.Cast("int64", start + k_step * (nr * pairs.part_size)))
        near = _weights_in_registers(self.isa, section, kind)
        again = weights
        pixels = zip(*(self._places(origins, place) for place in places), strict=True)
        for offsets, row in zip(pixels, acc, strict=True):
            if kind.is_ordered:
                orders = [self.orders[listed + i, T.ramp(0, 1, DWORD)] for i in range(at_once)]
                ordered = zip(offsets, orders, strict=True)
                data = [pairs.load_ordered(self.source, *place) for place in ordered]
            else:
                data = [pairs.load_data(self.source, offset)[0] for offset in offsets]
            for j, vector in enumerate(row):
                factors = []
                for i in range(at_once):
                    place = weights if j * at_once + i < near else again
                    place = place + (i * nr + j) * pairs.part_size
                    factors.append(pairs.load_weights(self.weights, place))
                total = get_lanes(vector, pairs.lanes)
                set_lanes(vector, pairs.multiply_add_bytes(total, data, factors), pairs.lanes)
            again = weights
            if near < at_once * nr:
                for vector in row:
                    again = extern("int64", self._after, again, get_lanes(vector, pairs.lanes))
                again = kept(again)


def _weights_in_registers(isa: Isa, section: Section, kind: KStepKind) -> int:
    """Count the vectors of weights that all pixels of a tile take from registers.

    The weights of one K-step always fit. LLVM would keep all weights of two K-steps in registers,
    and spill accumulators. So the other weights are read at an address that LLVM cannot prove to be
    the same for every pixel: then the product itself reads them from memory, as it does for a
    single pixel. For LLVM this address depends on the sums of the pixel before, so that it does not
    mix the products of several pixels, whose sums would spill. With SSE4.1, whose products
    overwrite an operand, these reads take longer than accumulators in memory.
    """
    vectors = kind.at_once * section.nr
    if kind.at_once == 1 or isa.lanes == 4 or section.mr == 1:
        return vectors
    left = max(isa.registers - section.mr * section.nr - _REGISTERS, 0)
    # A vector of channels takes the weights of both K-steps, if there is room for two.
    return min(left if left < 2 else left - left % 2, vectors)
