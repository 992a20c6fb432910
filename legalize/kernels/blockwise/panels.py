"""Many rows of data: tiles of a float32 product, whose blocks of weights are widened first."""

from __future__ import annotations

from functools import cache

from tvm import tirx
from tvm.script.ir_builder import IRBuilder
from tvm.script.ir_builder import tirx as T

from legalize.kernels.blockwise.kernel import declared
from legalize.kernels.blockwise.spec import GROUP, Blockwise
from legalize.kernels.blockwise.widening import each_step
from legalize.kernels.float_matmul.kernel import TileKernel
from legalize.kernels.float_matmul.spec import FloatMatmul, View
from legalize.kernels.ir.registers import kept
from legalize.kernels.ir.types import Buffer, Index
from legalize.kernels.isa.base import VectorIsa


@cache
def many_rows(isa: VectorIsa, spec: Blockwise) -> tirx.PrimFunc:
    """Build the function of a layer.

    Returns:
        A function of the data, the packed weights and scales, perhaps zero points, and the output.
    """
    with IRBuilder() as builder, T.prim_func(s_tir=True):
        T.func_name("blockwise_dense")
        T.func_attr({"global_symbol": "blockwise_dense", "tirx.noalias": True})
        _Panels(isa, spec).write()
    return builder.get()


class _Panels(TileKernel):
    def __init__(self, isa: VectorIsa, layer: Blockwise) -> None:
        self.layer = layer
        shapes = (layer.rows, layer.depth), (layer.depth, layer.units), (layer.rows, layer.units)
        lhs, rhs, output = (View(shape, (0, 1)) for shape in shapes)
        super().__init__(isa, FloatMatmul(lhs, rhs, output))

    def _declare(self) -> None:
        self.lhs, self.weights, self.target = declared(self.layer)

    def _pack(self, packed: Buffer, start: Index, column: Index, size: int) -> None:
        """Widen a block of ``size`` vectors of units; past the last one stand weights of 0."""
        del start
        layer, lanes = self.layer, self.lanes
        units = [column + vector * lanes for vector in range(size)]
        groups = [kept(T.truncdiv(unit, T.int32(GROUP))) for unit in units]
        firsts = [kept(unit - group * GROUP) for unit, group in zip(units, groups, strict=True)]

        def block(number: Index, loop: Index) -> None:
            numbers = [
                self.weights.numbers(group, number, first, lanes)
                for group, first in zip(groups, firsts, strict=True)
            ]

            def step(place: Index, count: int) -> None:
                for vector, (group, first) in enumerate(zip(groups, firsts, strict=True)):
                    found = self.weights.widened(group, place, numbers[vector], first, lanes)
                    for k, value in enumerate(found[:count]):
                        index = ((place * layer.in_byte + k) * size + vector) * lanes
                        T.buffer_store(packed, value, [T.ramp(index, 1, lanes)])

            loop(step)

        each_step(layer, block)
