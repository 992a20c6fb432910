"""Narrowing, clamping and storing of a tile's outputs."""

from collections.abc import Sequence

import numpy as np
from tvm.script.ir_builder import tirx as T

from legalize.kernels.conv2d.spec import ConvSpec, OutputStage
from legalize.kernels.ir.rows import has_masks, store_first, store_lanes
from legalize.kernels.ir.vectors import Buffer, Index, Vector, kept, lanes_in, splat, store_pieces
from legalize.kernels.isa.x86_instructions import narrow_pair, narrow_to_bytes


def store_pixel(
    spec: ConvSpec,
    target: Buffer,  # [prod(spec.target_shape)]
    origin: Index,
    first_vector: Index,
    vectors: list[Vector],
    channels: Index,
    ends: Sequence[Vector] = (),
    zero_point: int = 0,
) -> None:
    """Store the neighbouring channels of one pixel that a block computes.

    Args:
        spec: the convolution.
        target: the output as one row.
        origin: offset of the pixel's first channel.
        first_vector: the block's first vector of channels.
        vectors: int32 expressions; ``lane_channels`` gives the channel of each lane.
        channels: number of real channels, an int or an expression that is at least 1; nothing is
            written past them. If the code does not know it, all vectors but the last one are whole.
        ends: finished outputs of four vectors each, as bytes: they replace the first
            ``4 · len(ends)`` vectors.
        zero_point: see ``narrow``.
    """
    width = lanes_in(vectors[0])
    for first, size in store_pieces(len(vectors)):
        if first // size < len(ends):
            value = [(ends[first // size], 0, size * width)]
        else:
            value = narrow(spec.stored, vectors[first : first + size], zero_point)
        start = origin + (first_vector + first) * width
        real = channels - first * width
        for part, offset, lanes in value:
            index = T.ramp(start + offset, 1, lanes)
            if not isinstance(real, int) and first + size == len(vectors):
                store_first(target, part, start + offset, real - offset)
            elif not isinstance(real, int) or real - offset >= lanes:
                T.buffer_store(target, part, [index])
            elif real - offset == 1:
                # LLVM 22 turns a masked store of one narrowed lane into a store of four bytes.
                T.buffer_store(target, T.Shuffle([part], [0]), [start + offset])
            elif real > offset and has_masks(width):
                store_first(target, part, start + offset, real - offset)
            elif real > offset:
                store_lanes(target, part, 0, start + offset, real - offset)


def narrow_pixels(output: OutputStage, pixels: list[list[Vector]], zero_point: int) -> list[Vector]:
    """Turn accumulators of pixels with four vectors in total into outputs: bytes for each pixel.

    This takes fewer instructions than pixel by pixel. ``output`` has 8 bits, and vectors have 16
    lanes, whose channels are ordered for the number of vectors in a pixel. ``zero_point`` is as in
    ``narrow``.
    """
    a, b, c, d = (vector for vectors in pixels for vector in vectors)
    halves = narrow_words(a, b, zero_point), narrow_words(c, d, zero_point)
    value = narrow_to_bytes(*halves, output.dtype)
    value = kept(output.clamped(value))
    # The first pixel has the first bytes of each 16.
    order = np.arange(lanes_in(value)).reshape(-1, len(pixels), 16 // len(pixels))
    return [T.Shuffle([value], order[:, i].ravel().tolist()) for i in range(len(pixels))]


def narrow(
    output: OutputStage, vectors: list[Vector], zero_point: int | Vector
) -> list[tuple[Vector, int, int]]:
    """Turn an epilogue's results into outputs: (value, first channel, channels).

    Args:
        output: dtype and bounds of the outputs.
        vectors: int32, one, two or four; their channels are in order afterwards.
        zero_point: zero point that must still be added to the vectors.
    """
    width = lanes_in(vectors[0])
    lanes = width * len(vectors)
    if output.fills_lanes:
        dtype = f"{output.dtype}x{width}"
        return [(T.reinterpret(dtype, each), i * width, width) for i, each in enumerate(vectors)]
    if len(vectors) == 4:
        a, b, c, d = vectors
        halves = narrow_words(a, b, zero_point), narrow_words(c, d, zero_point)
        return [(output.clamped(narrow_to_bytes(*halves, output.dtype)), 0, lanes)]
    if len(vectors) == 1:
        element, value = "int32", moved(vectors[0], zero_point)
    else:
        a, b = vectors
        element, value = "int16", narrow_words(a, b, zero_point)
    low = T.broadcast(getattr(T, element)(output.low), lanes)
    high = T.broadcast(getattr(T, element)(output.high), lanes)
    return [(T.Cast(f"{output.dtype}x{lanes}", T.max(T.min(value, high), low)), 0, lanes)]


def narrow_words(a: Vector, b: Vector, zero_point: int | Vector) -> Vector:
    """Narrow two vectors to words, and add ``zero_point`` to them, both saturating."""
    words = narrow_pair(a, b)
    if isinstance(zero_point, int) and zero_point == 0:
        return words
    lanes = lanes_in(words)
    addend = _in_lanes("int16", zero_point, lanes)
    return T.call_llvm_pure_intrin(f"int16x{lanes}", f"llvm.sadd.sat.v{lanes}i16", words, addend)


def moved(vector: Vector, zero_point: int | Vector) -> Vector:
    """Add the missing zero point to a vector of int32."""
    if isinstance(zero_point, int) and zero_point == 0:
        return vector
    return vector + _in_lanes("int32", zero_point, lanes_in(vector))


def _in_lanes(dtype: str, value: int | Vector, lanes: int) -> Vector:
    """Return a number, known to the code or not, in all lanes; full vectors stay as they are."""
    if isinstance(value, int) or lanes_in(value) == lanes:
        return splat(dtype, value, lanes)
    return T.broadcast(T.Cast(dtype, value), lanes)
