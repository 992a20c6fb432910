"""Narrowing, clamping and storing of outputs."""

from tvm.script.ir_builder import tirx as T

from legalize.kernels.conv2d.spec import ConvSpec, OutputStage
from legalize.kernels.ir.rows import ramp, store_lanes
from legalize.kernels.ir.vectors import Buffer, Index, Vector, lanes_in, store_pieces
from legalize.kernels.isa.neon import LANES, Neon, add_saturating, joined


def store_channels(
    spec: ConvSpec,
    neon: Neon,
    target: Buffer,  # [pixels · channels]
    start: Index,
    vectors: list[Vector],
    channels: int,
    shift: int,
) -> None:
    """Store neighbouring channels of one pixel.

    Args:
        spec: the convolution.
        neon: the instructions.
        target: the output as one row.
        start: the offset of the first channel.
        vectors: int32x4 expressions.
        channels: the number of real channels; nothing is written past them.
        shift: the shift of narrowing.
    """
    for first, size in store_pieces(len(vectors)):
        offset = first * LANES
        if channels <= offset:
            return
        pieces = vectors[first : first + size]
        values = (
            pieces if spec.output.dtype == "int32" else [narrow(spec.output, neon, pieces, shift)]
        )
        for value in values:
            lanes = lanes_in(value)
            if channels - offset < lanes:
                store_lanes(target, value, 0, start + offset, channels - offset)
            else:
                T.buffer_store(target, value, [ramp(start + offset, lanes)])
            offset += lanes


def narrow(output: OutputStage, neon: Neon, vectors: list[Vector], shift: int) -> Vector:
    """Narrow one, two or four vectors to clamped outputs; one is repeated to eight lanes."""
    words = [neon.narrow_words(vector, shift) for vector in vectors]
    words = [joined(*(words[i : i + 2] * 2)[:2]) for i in range(0, len(words), 2)]
    if output.zero_point:
        words = [add_saturating(word, output.zero_point) for word in words]
    parts = [neon.narrow(word, output.dtype) for word in words]
    value = output.clamped(parts[0] if len(parts) == 1 else joined(*parts))
    return value if len(vectors) > 1 else T.Shuffle([value], list(range(LANES)))
