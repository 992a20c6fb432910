"""Dense layers that widen weights just before they multiply them.

    for each block of groups of units       in parallel, if there is work for several
      sums = 0
      for each block of the depth
        for each weight of it
          w = (q - zero point) · scale
          sums of each row += its number · w
      output = sums

Each sum is the same chain of fused multiply-adds as in the tiles of many rows.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from tvm import tirx
from tvm.script.ir_builder import tirx as T

from legalize.kernels.blockwise.spec import GROUP, Blockwise
from legalize.kernels.float_matmul.kernel import TileKernel
from legalize.kernels.float_matmul.pack import Block
from legalize.kernels.float_matmul.spec import FloatMatmul, View
from legalize.kernels.ir.rows import store_lanes
from legalize.kernels.ir.sums import zeros
from legalize.kernels.ir.tasks import shared_loop, task_count
from legalize.kernels.ir.vectors import (
    Buffer,
    Index,
    Vector,
    fetch,
    get_lanes,
    kept,
    set_lanes,
    splat,
    spread,
)
from legalize.kernels.isa.base import VectorIsa
from legalize.written import flat, new_function

# One row reads each weight once, from memory, and the processor itself looks ahead too little.
AHEAD = 1024
"""How many bytes of a group's weights a prefetch is ahead."""
_BLOCKS_AHEAD = 4
"""How many blocks a prefetch of scales is ahead."""


@dataclass(frozen=True)
class Weights:
    """The constants of a layer in memory, as ``Blockwise.packed`` lays them out.

    Attributes:
        spec: the layer.
        buffers: the buffers of the constants, of one axis each.
    """

    spec: Blockwise
    buffers: list[Buffer]

    def numbers(
        self, group: Index, block: Index, first: Index, lanes: int
    ) -> tuple[Vector, Vector]:
        """Return the scales and zero points of a block of some of the adjacent units."""
        adjacent = self.spec.adjacent
        start = (group * self.spec.blocks + block) * adjacent + first
        fetch(self.buffers[1], start + _BLOCKS_AHEAD * adjacent)
        place = T.ramp(start, 1, lanes)
        scale = kept(self.buffers[1][place])
        if not self.spec.points:
            return scale, splat("float32", self.spec.middle, lanes)
        return scale, kept(T.Cast(f"float32x{lanes}", self.buffers[2][place]))

    def widened(
        self, group: Index, step: Index, numbers: tuple[Vector, Vector], first: Index, lanes: int
    ) -> list[Vector]:
        """Return the weights of some units of a group, for neighbours that share a byte."""
        spec, (scale, point) = self.spec, numbers
        start = (group * spec.steps + step) * GROUP + first
        fetch(self.buffers[0], start + AHEAD)
        place = T.ramp(start, 1, lanes)
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
        spec: the layer.
        block: ``block(number, loop)`` writes the code of one block. ``loop(body)`` writes the loop
            over its bytes, where ``body(step, count)`` uses the first ``count`` weights of a byte.
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


MOST_ROWS = 3
"""The most rows of ``few_rows``. For more rows it is faster to widen the weights only once."""

_BYTES_OF_SUMS = 4 * GROUP * 4
"""The register bytes for a group's sums: four times their size, as others need room, too."""

# Roughly what one thread multiplies with vectors of 16.
_WEIGHTS_PER_MICROSECOND = 15_000


@cache
def few_rows(isa: VectorIsa, spec: Blockwise) -> tirx.PrimFunc:
    """Build the function of a layer of at most ``MOST_ROWS`` rows.

    Returns:
        A function of the data, the packed weights and scales, perhaps zero points, and the output.
    """
    with new_function("blockwise_dense") as builder:
        source, weights, target = declared(spec)
        most = max(isa.registers * isa.size // _BYTES_OF_SUMS // spec.rows, 1)
        whole, rest = divmod(spec.groups, most)
        tasks = task_count(spec.units * spec.depth / _WEIGHTS_PER_MICROSECOND * isa.size / 64)
        for first, blocks, size in ((0, whole, most), (whole * most, 1, rest)):
            if blocks and size:
                turn = _block(isa, spec, (source, weights, target), first, size)
                shared_loop(tasks, blocks, turn)
    return builder.get()


def declared(spec: Blockwise) -> tuple[Buffer, Weights, Buffer]:
    """Declare the arguments of a function, and their buffers of one axis."""
    names = ("weights", "scales", "points")
    data = T.arg("data", T.buffer((spec.rows, spec.depth), "float32"))
    given = [
        T.arg(name, T.buffer(shape, dtype))
        for name, shape, dtype in zip(names, spec.shapes, spec.dtypes, strict=False)
    ]
    output = T.arg("output", T.buffer((spec.rows, spec.units), "float32"))
    constants = list(map(flat, given))
    source, target = flat(data), flat(output)
    return source, Weights(spec, constants), target


def _block(
    isa: VectorIsa, spec: Blockwise, buffers: tuple[Buffer, Weights, Buffer], first: int, size: int
) -> Callable[[Index], None]:
    """Return the function that writes ``size`` groups of units."""
    source, weights, target = buffers

    def write(turn: Index) -> None:
        group = kept(first + turn * size)
        sums = zeros(spec.rows, size, GROUP)

        def block(number: Index, loop: Callable[..., None]) -> None:
            numbers = [weights.numbers(group + place, number, 0, GROUP) for place in range(size)]

            def step(place: Index, count: int) -> None:
                factors = [
                    [
                        kept(spread(source[row * spec.depth + place * spec.in_byte + k], GROUP))
                        for k in range(count)
                    ]
                    for row in range(spec.rows)
                ]
                for column in range(size):
                    found = weights.widened(group + column, place, numbers[column], 0, GROUP)
                    for row, own in zip(sums, factors, strict=True):
                        total = get_lanes(row[column], GROUP)
                        for factor, value in zip(own, found, strict=False):
                            total = isa.multiply_add(factor, value, total)
                        set_lanes(row[column], total, GROUP)

            loop(step)

        each_step(spec, block)
        for number, row in enumerate(sums):
            for column, each in enumerate(row):
                store_group(spec, target, number, group + column, get_lanes(each, GROUP))

    return write


def store_group(spec: Blockwise, target: Buffer, row: Index, group: Index, value: Index) -> None:
    """Store the sums of a group. The last group may have fewer units."""
    place, rest = row * spec.units + group * GROUP, spec.units % GROUP
    if not rest:
        T.buffer_store(target, value, [T.ramp(place, 1, GROUP)])
        return
    with T.If(group < spec.groups - 1):
        with T.Then():
            T.buffer_store(target, value, [T.ramp(place, 1, GROUP)])
        with T.Else():
            store_lanes(target, value, 0, place, rest)


@cache
def many_rows(isa: VectorIsa, spec: Blockwise) -> tirx.PrimFunc:
    """Build the function of a layer.

    Returns:
        A function of the data, the packed weights and scales, perhaps zero points, and the output.
    """
    with new_function("blockwise_dense") as builder:
        _Panels(isa, spec).write()
    return builder.get()


class _Panels(TileKernel):
    def __init__(self, isa: VectorIsa, layer: Blockwise) -> None:
        self.layer = layer
        shapes = (layer.rows, layer.depth), (layer.depth, layer.units), (layer.rows, layer.units)
        lhs, rhs, output = (View(shape, (0, 1)) for shape in shapes)
        data, self.weights, target = declared(layer)
        super().__init__(isa, FloatMatmul(lhs, rhs, output), (data, None, target))

    def pack(self, packed: Buffer, start: Index, block: Block, first: Index = 0) -> None:
        """Widen a block of units, with weights of 0 past the last unit."""
        del start
        layer, lanes, size = self.layer, self.lanes, block.size
        units = [block.column + vector * lanes for vector in range(size)]
        groups = [kept(T.truncdiv(unit, T.int32(GROUP))) for unit in units]
        firsts = [kept(unit - group * GROUP) for unit, group in zip(units, groups, strict=True)]

        def numbered(number: Index, loop: Index) -> None:
            numbers = [
                self.weights.numbers(group, number, unit, lanes)
                for group, unit in zip(groups, firsts, strict=True)
            ]

            def step(place: Index, count: int) -> None:
                for vector, (group, unit) in enumerate(zip(groups, firsts, strict=True)):
                    found = self.weights.widened(group, place, numbers[vector], unit, lanes)
                    for k, value in enumerate(found[:count]):
                        row = first + (place * layer.in_byte + k) * size
                        index = (row + vector) * lanes
                        T.buffer_store(packed, value, [T.ramp(index, 1, lanes)])

            loop(step)

        each_step(layer, numbered)
