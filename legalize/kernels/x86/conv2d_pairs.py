"""Convolution of uint8 data with weights that are cut for vpmaddubsw.

As in conv2d.py, but the steps of a block of channels are listed by its constants: their places,
and the order in which they take their four bytes.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from tvm import tirx
from tvm.script.ir_builder import tirx as T

from legalize.kernels.sections import Section, Tiling
from legalize.kernels.spec import DWORD, ConvSpec
from legalize.kernels.vectors import lanes_of, set_lanes
from legalize.kernels.x86.byte_pairs import ListedSteps
from legalize.kernels.x86.conv2d import ConvKernel
from legalize.kernels.x86.isa import Isa
from legalize.kernels.x86.requantize import Requantization


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
        if ordered := self.steps.count - self.steps.plain:
            self.orders = T.arg("orders", T.buffer((blocks, ordered, DWORD), "uint8"))

    def _accumulate(self, section: Section, group: Any, first: Any, acc: Any) -> None:
        isa = self.isa
        # As int64, in which LLVM adds an offset to all of them where it loads the data.
        origins = [T.Cast("int64", self._origin(first + i)) for i in range(section.pixels)]
        earlier = self.tiling[: self.tiling.index(section)]
        number = T.truncdiv(group - section.first_group, section.groups)
        block = number + sum(part.blocks for part in earlier)
        start = group * self.block_step

        def step(k: Any, order: Any = None) -> None:
            place = T.Cast("int64", self.places[block, k])
            weights = start + k * (section.groups * isa.part_size)
            for origin, row in zip(origins, acc, strict=True):
                if order is None:
                    (data,) = isa.load_data(self.source, origin + place)
                else:
                    data = isa.load_ordered(self.source, origin + place, order)
                for j, vector in enumerate(row):
                    total = lanes_of(vector, isa.lanes)
                    factors = isa.load_weights(self.weights, weights + j * isa.part_size)
                    set_lanes(vector, isa.multiply_add(total, data, factors), isa.lanes)

        with T.serial(self.steps.plain) as k:
            step(k)
        if ordered := self.steps.count - self.steps.plain:
            with T.serial(ordered) as k:
                step(self.steps.plain + k, self.orders[block, k, T.ramp(0, 1, DWORD)])
