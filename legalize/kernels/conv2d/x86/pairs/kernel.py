"""Convolution of uint8 data with weights that are cut for vpmaddubsw.

As in ../kernel.py, but the steps of a block of channels are listed by its constants: their places,
the order in which they take their four bytes, and which of them are added in 16 bits.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from tvm import tirx
from tvm.script.ir_builder import tirx as T

from legalize.kernels.conv2d.spec import ConvSpec
from legalize.kernels.conv2d.tiling import Section, Tiling
from legalize.kernels.conv2d.x86.epilogue.fixed_point import Requantization
from legalize.kernels.conv2d.x86.kernel import ConvKernel
from legalize.kernels.conv2d.x86.pairs.weights import STEP_KINDS, ListedSteps, StepKind
from legalize.kernels.ir.registers import DWORD, kept, lanes_of, set_lanes
from legalize.kernels.isa.x86 import Isa

# TVM's annotation of a buffer that is read anew each time.
_VOLATILE = "tirx.volatile"
# Beside accumulators and weights: data of two steps, a sum and two of what LLVM has there, too.
_REGISTERS = 5


@cache
def conv2d_pairs(
    spec: ConvSpec,
    requantization: Requantization,
    tiling: Tiling,
    isa: Isa,
    steps: ListedSteps,
) -> tirx.PrimFunc:
    """Build the function that computes a convolution, as ``conv2d`` does.

    Args:
        spec: The convolution.
        requantization: From ``pack_conv2d``.
        tiling: Likewise.
        isa: The instruction set, ``of_pairs``. The target must have its features.
        steps: From ``pack_conv2d``.
    """
    return _PairsKernel(spec, isa, requantization, tiling, steps).build()


class _PairsKernel(ConvKernel):
    """The buffers of one function, and what writes its loops."""

    def __init__(
        self,
        spec: ConvSpec,
        isa: Isa,
        requantization: Requantization,
        tiling: Tiling,
        steps: ListedSteps,
    ) -> None:
        super().__init__(spec, isa, requantization, tiling, isa.weight_dtype)
        self.steps = steps

    def _steps_of_block(self) -> int:
        return self.steps.count

    def _declare_steps(self) -> None:
        blocks = sum(section.blocks for section in self.tiling)
        self.places = T.arg("places", T.buffer((blocks, self.steps.count), "int32"))
        self.loops = T.arg("loops", T.buffer((blocks, len(STEP_KINDS), 2), "int32"))
        if self.steps.has_orders:
            self.orders = T.arg("orders", T.buffer((blocks, self.steps.count, DWORD), "uint8"))

    def _accumulate(self, section: Section, group: Any, first: Any, acc: Any) -> None:
        # As int64, in which LLVM adds an offset to all of them where it loads the data.
        origins = [T.Cast("int64", self._origin(first + i)) for i in range(section.pixels)]
        earlier = self.tiling[: self.tiling.index(section)]
        number = T.truncdiv(group - section.first_group, section.groups)
        block = number + sum(part.blocks for part in earlier)
        start = group * self.block_step
        slot = T.alloc_buffer((1,), "int64", scope="global", annotations={_VOLATILE: True})
        for number, kind in enumerate(STEP_KINDS):
            if self.steps.kinds[number]:
                with T.serial(self.loops[block, number, 1]) as turn:
                    step = self.loops[block, number, 0] + turn * kind.at_once
                    self._turn(section, kind, block, step, start, origins, acc, slot)

    def _turn(
        self,
        section: Section,
        kind: StepKind,
        block: Any,
        step: Any,
        start: Any,
        origins: list[Any],
        acc: Any,
        slot: Any,
    ) -> None:
        """Write the products of the steps that are added in 16 bits, from ``step`` on."""
        isa, groups, at_once = self.isa, section.groups, kind.at_once
        steps = [step + i for i in range(at_once)]
        places = [kept(T.Cast("int64", self.places[block, k])) for k in steps]
        weights = kept(T.Cast("int64", start + step * (groups * isa.part_size)))
        near = _weights_in_registers(isa, section, kind)
        if near < at_once * groups:
            T.buffer_store(slot, weights, [0])
        for origin, row in zip(origins, acc, strict=True):
            offsets = [origin + place for place in places]
            if kind.is_ordered:
                orders = [self.orders[block, k, T.ramp(0, 1, DWORD)] for k in steps]
                listed = zip(offsets, orders, strict=True)
                data = [isa.load_ordered(self.source, *place) for place in listed]
            else:
                data = [isa.load_data(self.source, offset)[0] for offset in offsets]
            again = kept(slot[0]) if near < at_once * groups else weights
            for j, vector in enumerate(row):
                factors = []
                for i in range(at_once):
                    place = weights if j * at_once + i < near else again
                    place = place + (i * groups + j) * isa.part_size
                    factors.append(isa.load_weights(self.weights, place))
                total = lanes_of(vector, isa.lanes)
                set_lanes(vector, isa.multiply_add_bytes(total, data, factors), isa.lanes)


def _weights_in_registers(isa: Isa, section: Section, kind: StepKind) -> int:
    """How many vectors of weights all pixels of a tile take from registers.

    One step's always fit. Of two steps LLVM would keep all of them, and accumulators in memory.
    So the others are read at a place that it cannot know to be the same for every pixel: then
    the product itself reads them from memory, as it does by itself where there is one pixel. With
    SSE4.1, whose products overwrite an operand, that takes longer than accumulators in memory.
    """
    vectors = kind.at_once * section.groups
    if kind.at_once == 1 or isa.lanes == 4 or section.pixels == 1:
        return vectors
    left = max(isa.registers - section.pixels * section.groups - _REGISTERS, 0)
    # Those of both steps for a vector of channels, if there is room for two.
    return min(left if left < 2 else left - left % 2, vectors)
