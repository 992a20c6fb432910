"""Loads of the tensor that a convolution adds, in the order of its outputs' lanes."""

from dataclasses import dataclass

from tvm.script.ir_builder import tirx as T

from legalize.kernels.ir.rows import load_filled
from legalize.kernels.ir.vectors import Buffer, Index, Vector, store_pieces


@dataclass(frozen=True)
class AddendBlock:
    """The values that are added to a block of channels, at pixels given by their first channel.

    Attributes:
        tensor: the tensor that is added, as one row; None if there is none.
        first_vector: the block's first vector of channels.
        vectors: the block's vectors.
        lanes: int32 values in a vector.
        channels: number of real channels; nothing is read past them.
    """

    tensor: Buffer
    first_vector: Index
    vectors: int
    lanes: int
    channels: int

    def vector(self, start: Index, number: int) -> Vector:
        """Load a vector as int32; see ``load_addend``. Return None if there is no tensor."""
        if self.tensor is None:
            return None
        return load_addend(self.tensor, *self._place(start, number))

    def words(self, start: Index, number: int) -> Vector:
        """Load two vectors as int16; see ``load_addend_words``."""
        return load_addend_words(self.tensor, *self._place(start, number))

    def four_vectors(self, start: Index, number: int) -> Vector:
        """Load the bytes of four vectors of real channels."""
        start = start + (self.first_vector + number) * self.lanes
        return self.tensor[T.ramp(start, 1, 4 * self.lanes)]

    def _place(self, start: Index, number: int) -> tuple[Index, int, int, int, int]:
        """Return the arguments of ``load_addend`` beside the tensor."""
        first, size = next(piece for piece in store_pieces(self.vectors) if number < sum(piece))
        start = start + (self.first_vector + first) * self.lanes
        return start, size, number - first, self.lanes, self.channels - first * self.lanes


def load_addend(
    buffer: Buffer,  # [pixels · channels]
    start: Index,
    vectors: int,
    number: int,
    lanes: int,
    channels: int,
) -> Vector:
    """Load one of the vectors that hold neighbouring channels of a pixel.

    Args:
        buffer: the tensor as one row.
        start: offset of the first channel.
        vectors: 1, 2 or 4, as ``store_pieces`` cuts a block.
        number: the index of the vector among them.
        lanes: int32 values in a vector.
        channels: number of real channels; nothing is read past them.

    Returns:
        int32 vector; ``lane_channels`` gives the channel of each lane.
    """
    size = vectors * lanes
    if channels <= 0:
        return T.broadcast(T.int32(0), lanes)
    data = load_filled(buffer, start, channels, size)
    is_signed = buffer.dtype == "int8"
    if vectors == 4:
        return _dwords(data, number, lanes, is_signed=is_signed)
    order = list(range(lanes))
    if vectors == 2:
        order = [8 * (lane // 4) + lane % 4 for lane in range(lanes)]
    places = [place + 4 * number for place in order]
    return T.Cast(f"int32x{lanes}", T.Shuffle([data], places))


def load_addend_words(
    buffer: Buffer,  # [pixels · channels]
    start: Index,
    vectors: int,
    number: int,
    lanes: int,
    channels: int,
) -> Vector:
    """Load two of the vectors as int16, interleaved as ``narrow_pair`` does.

    Args:
        buffer: the tensor as one row.
        start: offset of the first channel.
        vectors: 2 or 4.
        number: the index of the first of the two: 0 or 2.
        lanes: int32 values in a vector.
        channels: number of real channels, at least one; nothing is read past them.
    """
    data = load_filled(buffer, start, channels, vectors * lanes)
    places = [
        4 * (vectors * quarter + vector) + lane
        for quarter in range(lanes // 4)
        for vector in (number, number + 1)
        for lane in range(4)
    ]
    return T.Cast(f"int16x{2 * lanes}", T.Shuffle([data], places))


def _dwords(data: Vector, number: int, lanes: int, *, is_signed: bool) -> Vector:
    """Widen one of four vectors by a byte shuffle within 128 bits, which fills with zeros."""
    byte = "int8" if is_signed else "uint8"
    zeros = T.broadcast(getattr(T, byte)(0), 4 * lanes)
    # The byte goes to the upper end of its lane, from where a shift extends its sign.
    place = 3 if is_signed else 0
    indices = [
        16 * (lane // 4) + 4 * number + lane % 4 if byte_of == place else 4 * lanes
        for lane in range(lanes)
        for byte_of in range(4)
    ]
    dwords = T.reinterpret(f"int32x{lanes}", T.Shuffle([data, zeros], indices))
    return T.shift_right(dwords, T.broadcast(T.int32(24), lanes)) if is_signed else dwords
