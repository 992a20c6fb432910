"""Sums of products of bytes, four neighbours along the depth at a time.

    for each few bytes of a block
      words = 0
      for each field of bits of the weights, and each row
        words += products of pairs of weights and of steps
      sums += words

Where an instruction adds four products to an int32, there are no words.
"""

from __future__ import annotations

from tvm.script.ir_builder import tirx as T

from legalize.kernels.blockwise.spec import GROUP, QUAD, Blockwise
from legalize.kernels.ir.registers import get_lanes, kept, local_vector, set_lanes
from legalize.kernels.ir.types import Buffer, Index, Vector
from legalize.kernels.ir.vectors import splat, spread
from legalize.kernels.isa.base import VectorIsa

_SHORT_BITS = 4
"""Of weights whose pairs of products, of eight quads, fit into a word: 8 · 2 · 15 · 128 < 2^15."""
_MOST_QUADS = 8
"""Of a short sum."""


def multiplies_quads(isa: VectorIsa, bits: int) -> bool:
    """Tell whether there are instructions for weights of so many bits."""
    return isa.adds_byte_products or (isa.multiplies_bytes and bits <= _SHORT_BITS)


def add_quads(
    isa: VectorIsa,
    spec: Blockwise,
    given: tuple[Buffer, Buffer],
    sums: list[list[Buffer]],
    place: tuple[list[tuple[Index, Index]], Index, Index],
) -> None:
    """Write the loop over a block: sums of int32 take the products of rows and of vectors.

    Args:
        isa: the vectors.
        spec: of the layer.
        given: weights, and steps of data as int8.
        sums: by row and vector.
        place: the group of units of each vector and its first one there; the first row; the block.
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
            loaded = [_loaded(spec, weights, unit, step, lanes) for unit in units]
            for field in range(spec.in_byte):
                found = [kept(_field(spec, each, field, lanes)) for each in loaded]
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


def _loaded(
    spec: Blockwise, weights: Buffer, unit: tuple[Index, Index], step: Index, lanes: int
) -> Vector:
    """Return bytes of a vector of units, four of each."""
    group, first = unit
    place = ((group * (spec.steps // QUAD) + step) * GROUP + first) * QUAD
    return kept(T.reinterpret(f"int32x{lanes}", weights[T.ramp(place, 1, QUAD * lanes)]))


def _field(spec: Blockwise, loaded: Vector, field: int, lanes: int) -> Vector:
    """Return the weights in some bits of bytes."""
    if spec.in_byte > 1:
        if field:
            loaded = T.shift_right(loaded, splat("int32", spec.bits * field, lanes))
        mask = ((1 << spec.bits) - 1) * 0x01010101
        loaded = T.bitwise_and(loaded, splat("int32", mask, lanes))
    return T.reinterpret(f"uint8x{QUAD * lanes}", loaded)
