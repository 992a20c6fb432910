"""Weights of a few bits, widened to float32 in registers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tvm.script.ir_builder import tirx as T

from legalize.kernels.blockwise.spec import GROUP, Blockwise
from legalize.kernels.ir.registers import kept
from legalize.kernels.ir.types import Buffer, Index, Vector
from legalize.kernels.ir.vectors import splat


@dataclass(frozen=True)
class Weights:
    """The constants of a layer in memory, as ``Blockwise.packed`` lays them out.

    Attributes:
        spec: of the layer.
        buffers: of one axis each.
    """

    spec: Blockwise
    buffers: list[Buffer]

    def numbers(
        self, group: Index, block: Index, first: Index, lanes: int
    ) -> tuple[Vector, Vector]:
        """Return the scales and zero points of a block of some units of a group."""
        place = T.ramp((group * self.spec.blocks + block) * GROUP + first, 1, lanes)
        scale = kept(self.buffers[1][place])
        if not self.spec.points:
            return scale, splat("float32", self.spec.middle, lanes)
        return scale, kept(T.Cast(f"float32x{lanes}", self.buffers[2][place]))

    def widened(
        self, group: Index, step: Index, numbers: tuple[Vector, Vector], first: Index, lanes: int
    ) -> list[Vector]:
        """Return weights of some units of a group: those of neighbours that share a byte."""
        spec, (scale, point) = self.spec, numbers
        place = T.ramp((group * spec.steps + step) * GROUP + first, 1, lanes)
        wide = kept(T.Cast(f"int32x{lanes}", self.buffers[0][place]))
        mask = splat("int32", (1 << spec.bits) - 1, lanes)
        found = []
        for number in range(spec.in_byte):
            value = wide
            if number:
                value = T.shift_right(value, splat("int32", spec.bits * number, lanes))
            if number < spec.in_byte - 1:
                value = T.bitwise_and(value, mask)
            real = T.Cast(f"float32x{lanes}", value) - point
            found.append(kept(real * scale))
        return found


def each_step(spec: Blockwise, block: Callable[[Index, Callable[..., None]], None]) -> None:
    """Write the loop over blocks of the depth; the last may be shorter.

    Args:
        spec: of the layer.
        block: writes what is done in a block: ``block(number, loop)``, where ``loop(body)`` writes
            the loop over its bytes, ``body(step, count)`` of the first ``count`` weights of one.
    """
    in_block = spec.size // spec.in_byte

    def loop_of(number: Index, length: int) -> Callable[..., None]:
        def loop(body: Callable[[Index, int], None]) -> None:
            whole, rest = divmod(length, spec.in_byte)
            if whole:
                with T.serial(whole) as step:
                    body(number * in_block + step, spec.in_byte)
            if rest:
                body(number * in_block + whole, rest)

        return loop

    whole, rest = divmod(spec.depth, spec.size)
    if whole:
        with T.serial(whole) as number:
            block(number, loop_of(number, spec.size))
    if rest:
        block(T.int32(whole), loop_of(T.int32(whole), rest))
