"""Dense layers that turn rows into integers, block by block, and multiply them by bytes.

    for each few bytes of a block
      words = 0
      for each field of bits of the weights, and each row
        words += products of pairs of weights and of steps
      sums += words

If an instruction adds four products to an int32, there are no words.

    for each block of a row
      data's steps, their sum, and the value of one
    for each block of vectors of units      in parallel, if there is work for several
      for each tile of rows
        for each block of the depth
          sums += products of pairs of steps and of weights, or of four of each
          totals += (sums - zero point · sum of steps) · (value · scale)
        output = totals

Totals are of float32, sums of int32.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from tvm import tirx
from tvm.script.ir_builder import tirx as T

from legalize.kernels.blockwise.kernel import AHEAD, Weights, declared
from legalize.kernels.blockwise.spec import GROUP, QUAD, Blockwise
from legalize.kernels.ir.arithmetic import magnitude_bits, round_half_even, rounded_apart
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
    local_vector,
    reduced,
    set_lanes,
    splat,
    spread,
    unsigned_min,
)
from legalize.kernels.isa.base import VectorIsa
from legalize.written import new_function

_SHORT_BITS = 4
"""The most bits of weights for short sums. Eight quads fit a word, as 8 · 2 · 15 · 128 < 2^15."""
_MOST_QUADS = 8
"""The most quads in a short sum."""


def multiplies_quads(isa: VectorIsa, bits: int) -> bool:
    """Tell whether instructions multiply quads of weights with these bits."""
    return isa.adds_byte_products or (isa.multiplies_bytes and bits <= _SHORT_BITS)


def adjacent_units(isa: VectorIsa, bits: int) -> int:
    """Return the most units whose weights should be adjacent.

    A tile of one row then reads one stream. Weights of 8 bits gain nothing from it.
    """
    return max(_MOST_VECTORS * isa.lanes, GROUP) if bits <= _SHORT_BITS else GROUP


def add_quads(
    isa: VectorIsa,
    spec: Blockwise,
    given: tuple[Buffer, Buffer],
    sums: list[list[Buffer]],
    place: tuple[list[tuple[Index, Index]], Index, Index],
) -> None:
    """Write the loop over a block, which adds the products of rows and weights to int32 sums.

    Args:
        isa: the vectors.
        spec: the layer.
        given: the weights, and the data's steps as int8.
        sums: the sums, by row and vector.
        place: each vector's group of units and first unit in it; the first row; the block.
    """
    (weights, steps), (units, row, block), lanes = given, place, isa.lanes
    in_block = spec.size // QUAD
    at_once = min(_MOST_QUADS, in_block)
    at_once = at_once if in_block % at_once == 0 else QUAD
    turns = at_once // spec.in_byte
    words = [[local_vector(2 * lanes, "int16") for _ in own] for own in sums]
    with T.serial(in_block // at_once) as part:
        for turn in range(turns):
            step = kept(block * (in_block // spec.in_byte) + part * turns + turn)
            loaded = [load_units(spec, weights, unit, step, lanes) for unit in units]
            for field in range(spec.in_byte):
                found = [kept(field_of(spec, each, field, lanes)) for each in loaded]
                for number, own in enumerate(sums):
                    first = (row + number) * spec.depth + (step * spec.in_byte + field) * QUAD
                    quad = T.reinterpret("int32", steps[T.ramp(first, 1, QUAD)])
                    data = kept(T.reinterpret(f"int8x{QUAD * lanes}", spread(quad, lanes)))
                    for column, value in enumerate(found):
                        if isa.adds_byte_products:
                            total = get_lanes(own[column], lanes)
                            total = isa.add_byte_products(total, value, data)
                            set_lanes(own[column], total, lanes)
                            continue
                        word, products = words[number][column], isa.byte_pairs(value, data)
                        if turn or field:
                            products = get_lanes(word, 2 * lanes) + products
                        set_lanes(word, products, 2 * lanes)
        if not isa.adds_byte_products:
            for own, short in zip(sums, words, strict=True):
                for total, word in zip(own, short, strict=True):
                    ones = splat("int16", 1, 2 * lanes)
                    more = isa.pair_products(get_lanes(word, 2 * lanes), ones)
                    set_lanes(total, get_lanes(total, lanes) + more, lanes)


def load_units(
    spec: Blockwise, weights: Buffer, unit: tuple[Index, Index], step: Index, lanes: int
) -> Vector:
    """Load a vector of units: four bytes of each."""
    group, first = unit
    place = ((group * (spec.steps // QUAD) + step) * spec.adjacent + first) * QUAD
    if spec.rows == 1 and spec.in_byte > 1:  # whole bytes take longer with prefetches
        fetch(weights, place + AHEAD * spec.adjacent // GROUP)
    return kept(T.reinterpret(f"int32x{lanes}", weights[T.ramp(place, 1, QUAD * lanes)]))


def field_of(spec: Blockwise, loaded: Vector, field: int, lanes: int) -> Vector:
    """Return the weights in one field of bits of each byte."""
    if spec.in_byte > 1:
        if field:
            loaded = T.shift_right(loaded, splat("int32", spec.bits * field, lanes))
        mask = ((1 << spec.bits) - 1) * 0x01010101
        loaded = T.bitwise_and(loaded, splat("int32", mask, lanes))
    return T.reinterpret(f"uint8x{QUAD * lanes}", loaded)


_MOST = 127.0
_MOST_ROWS = 4
"""The most rows in a tile."""
_MOST_VECTORS = 4
"""The most vectors of units in a tile.

Often each one's weights and scales lie multiples of 4 KB apart, and so share a set of the nearest
cache. A set has eight places or more.
"""
_PAIR = 2
# Roughly what one thread multiplies with vectors of 16.
_PRODUCTS_PER_MICROSECOND = 60_000


def is_served(spec: Blockwise) -> bool:
    """Tell whether the kernel computes a layer: zero points are integers, blocks whole vectors."""
    is_whole = spec.size % GROUP == 0 and spec.depth % spec.size == 0
    return is_whole and spec.points != "float32" and spec.middle == int(spec.middle)


@cache
def integer_rows(isa: VectorIsa, spec: Blockwise) -> tirx.PrimFunc:
    """Build the function of a layer.

    Returns:
        A function of the data, the packed weights and scales, perhaps zero points, and the output.
    """
    with new_function("blockwise_integers") as builder:
        source, weights, target = declared(spec)
        data = quantized(spec, source)
        rows = min(spec.rows, _MOST_ROWS)
        # Short sums start anew in each block, so only totals occupy registers beside them.
        share = 2 if spec.has_quads and not isa.adds_byte_products else 4
        most = max(min(isa.registers // share // rows, _MOST_VECTORS), 1)
        whole, rest = divmod(-(-spec.units // isa.lanes), most)
        products = spec.rows * spec.units * spec.depth
        tasks = task_count(products / _PRODUCTS_PER_MICROSECOND * isa.size / 64)
        for first, blocks, size in ((0, whole, most), (whole * most, 1, rest)):
            if blocks and size:
                tile = _Tile(isa, spec, weights, data, target, first, size, rows)
                shared_loop(tasks, blocks, tile.write)
    return builder.get()


def _dtype(spec: Blockwise) -> str:
    """Return the dtype of the data's steps."""
    return "int8" if spec.has_quads else "int16"


@dataclass(frozen=True)
class Data:
    """The data as integers.

    Attributes:
        steps: int8 or int16 [rows · depth].
        values: float32 [rows · blocks]: the real value of one step of each block.
        sums: int32 [rows · blocks]: each block's sum of steps; None if no code reads it.
    """

    steps: Buffer
    values: Buffer
    sums: Buffer


def quantized(spec: Blockwise, source: Buffer, *, has_sums: bool = True) -> Data:
    """Write the loop over all blocks of data that turns them into integers."""
    count = spec.rows * spec.blocks
    data = Data(
        T.alloc_buffer((spec.rows * spec.depth,), _dtype(spec), scope="global"),
        T.alloc_buffer((count,), "float32", scope="global"),
        T.alloc_buffer((count,), "int32", scope="global") if has_sums else None,
    )
    with T.serial(count) as number:
        _quantize(spec, source, data, number)
    return data


def _quantize(spec: Blockwise, source: Buffer, data: Data, number: Index) -> None:
    """Write a block of data as integers."""
    largest, total = local_vector(GROUP, "float32"), local_vector(GROUP)
    set_lanes(largest, splat("float32", 0.0, GROUP), GROUP)
    set_lanes(total, splat("int32", 0, GROUP), GROUP)

    def loop(body: Callable[[Index], None]) -> None:
        with T.serial(spec.size // GROUP) as turn:
            body(T.ramp(number * spec.size + turn * GROUP, 1, GROUP))

    def measure(place: Index) -> None:
        size = T.reinterpret(f"float32x{GROUP}", magnitude_bits(source[place]))
        set_lanes(largest, T.max(size, get_lanes(largest, GROUP)), GROUP)

    loop(measure)
    # No size is negative, so the bits of sizes have the same order.
    bits = T.reinterpret(f"int32x{GROUP}", get_lanes(largest, GROUP))
    most = kept(T.reinterpret("float32", reduced("max", bits)))
    is_none = most <= T.float32(0)
    divisor = kept(T.Select(is_none, T.float32(1), most))
    factor = kept(T.Select(is_none, T.float32(0), T.float32(_MOST) / divisor))

    def convert(place: Index) -> None:
        real = rounded_apart(source[place] * spread(factor, GROUP))
        steps = kept(round_half_even(real))
        T.buffer_store(data.steps, T.Cast(f"{_dtype(spec)}x{GROUP}", steps), [place])
        if data.sums is not None:
            set_lanes(total, steps + get_lanes(total, GROUP), GROUP)

    loop(convert)
    if data.sums is not None:
        T.buffer_store(data.sums, reduced("add", get_lanes(total, GROUP)), [number])
    T.buffer_store(data.values, most / T.float32(_MOST), [number])


@dataclass(frozen=True)
class _Tile:
    """Writes tiles of ``rows`` rows by ``size`` vectors of units."""

    isa: VectorIsa
    spec: Blockwise
    weights: Weights
    data: Data
    target: Buffer
    first: int
    size: int
    rows: int

    def write(self, turn: Index) -> None:
        """Write the tiles of a block of units."""
        vector = kept(self.first + turn * self.size)
        with T.serial(-(-self.spec.rows // self.rows)) as number:
            self._tile(unsigned_min(number * self.rows, self.spec.rows - self.rows), vector)

    def _tile(self, row: Index, vector: Index) -> None:
        spec, lanes = self.spec, self.isa.lanes
        row = kept(row)
        units = [kept((vector + number) * lanes) for number in range(self.size)]
        places = self._places(units)
        totals = zeros(self.rows, self.size, lanes)
        sums = [[local_vector(lanes) for _ in row] for row in totals]
        with T.serial(spec.blocks) as block:
            numbers = [self.weights.numbers(group, block, first, lanes) for group, first in places]
            for number, own in enumerate(sums):
                moved = spread(kept(-self.data.sums[(row + number) * spec.blocks + block]), lanes)
                for each, (_, point) in zip(own, numbers, strict=True):
                    set_lanes(each, T.Cast(f"int32x{lanes}", point) * moved, lanes)
            if spec.has_quads:
                given = self.weights.buffers[0], self.data.steps
                add_quads(self.isa, spec, given, sums, (places, row, block))
            else:
                with T.serial(spec.size // _PAIR) as pair:
                    self._add_products(sums, places, row, block * (spec.size // _PAIR) + pair)
            for column, (scale, _) in enumerate(numbers):
                for number in range(self.rows):
                    place = (row + number) * spec.blocks + block
                    found = get_lanes(sums[number][column], lanes)
                    factor = scale * spread(kept(self.data.values[place]), lanes)
                    total = totals[number][column]
                    value = self.isa.multiply_add(
                        T.Cast(f"float32x{lanes}", found), factor, get_lanes(total, lanes)
                    )
                    set_lanes(total, value, lanes)
        for number, own in enumerate(totals):
            for column, each in enumerate(own):
                self._store(row + number, units[column], get_lanes(each, lanes))

    def _places(self, units: list[Index]) -> list[tuple[Index, Index]]:
        """Return the number of each vector's adjacent units, and its first unit among them."""
        lanes, adjacent = self.isa.lanes, self.spec.adjacent
        together = 1 if adjacent % (self.size * lanes) else self.size  # these share an address
        places = []
        for unit in units[::together]:
            group = kept(T.truncdiv(unit, T.int32(adjacent)))
            first = kept(unit - group * adjacent)
            places += [(group, first + number * lanes) for number in range(together)]
        return places

    def _add_products(
        self, sums: list[list[Buffer]], places: list[tuple[Index, Index]], row: Index, pair: Index
    ) -> None:
        """Add the products of a pair of neighbours along the depth."""
        lanes, words = self.isa.lanes, f"int16x{2 * self.isa.lanes}"
        factors = []
        for number in range(self.rows):
            place = (row + number) * self.spec.depth + pair * _PAIR
            both = T.reinterpret("int32", self.data.steps[T.ramp(place, 1, _PAIR)])
            factors.append(kept(T.reinterpret(words, spread(both, lanes))))
        for column, (group, first) in enumerate(places):
            weights = kept(T.reinterpret(words, self._pair(group, first, pair)))
            for number, factor in enumerate(factors):
                total = sums[number][column]
                products = self.isa.pair_products(factor, weights)
                set_lanes(total, get_lanes(total, lanes) + products, lanes)

    def _pair(self, group: Index, first: Index, pair: Index) -> Vector:
        """Return the weights of a pair, each in half of an int32."""
        spec, lanes = self.spec, self.isa.lanes

        def loaded(step: Index) -> Vector:
            place = T.ramp((group * spec.steps + step) * spec.adjacent + first, 1, lanes)
            return kept(T.Cast(f"int32x{lanes}", self.weights.buffers[0][place]))

        if spec.in_byte == 1:
            upper = T.shift_left(loaded(pair * _PAIR + 1), splat("int32", 16, lanes))
            return T.bitwise_or(loaded(pair * _PAIR), upper)
        pairs = spec.in_byte // _PAIR
        both = loaded(pair)
        if pairs > 1:
            both = loaded(T.truncdiv(pair, T.int32(pairs)))
            place = T.truncmod(pair, T.int32(pairs)) * (_PAIR * spec.bits)
            both = kept(T.shift_right(both, spread(place, lanes)))
        upper = T.shift_left(both, splat("int32", 16 - spec.bits, lanes))
        mask = (1 << spec.bits) - 1
        return T.bitwise_and(T.bitwise_or(both, upper), splat("int32", mask << 16 | mask, lanes))

    def _store(self, row: Index, unit: Index, value: Vector) -> None:
        """Store the totals of a vector of units. The last vector may hold fewer units."""
        spec, lanes = self.spec, self.isa.lanes
        place, rest = row * spec.units + unit, spec.units % lanes
        if not rest:
            T.buffer_store(self.target, value, [T.ramp(place, 1, lanes)])
            return
        with T.If(unit + lanes <= spec.units):
            with T.Then():
                T.buffer_store(self.target, value, [T.ramp(place, 1, lanes)])
            with T.Else():
                store_lanes(self.target, value, 0, place, rest)
