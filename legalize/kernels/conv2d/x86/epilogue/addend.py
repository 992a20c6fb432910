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
        """Load a vector as int32, in the order of ``lane_channels``; None without a tensor."""
        if self.tensor is None:
            return None
        first, size = self._piece(number)
        if self.channels <= first * self.lanes:
            return T.broadcast(T.int32(0), self.lanes)
        data = self._load(start, first, size)
        if size == 4:
            return self._dwords(data, number - first)
        order = list(range(self.lanes))
        if size == 2:
            order = [8 * (lane // 4) + lane % 4 for lane in range(self.lanes)]
        places = [place + 4 * (number - first) for place in order]
        return T.Cast(f"int32x{self.lanes}", T.Shuffle([data], places))

    def words(self, start: Index, number: int) -> Vector:
        """Load two vectors as int16, interleaved as ``narrow_pair`` does."""
        first, size = self._piece(number)
        places = [
            4 * (size * quarter + vector) + lane
            for quarter in range(self.lanes // 4)
            for vector in (number - first, number - first + 1)
            for lane in range(4)
        ]
        data = self._load(start, first, size)
        return T.Cast(f"int16x{2 * self.lanes}", T.Shuffle([data], places))

    def four_vectors(self, start: Index, number: int) -> Vector:
        """Load the bytes of four vectors of real channels."""
        return self._load(start, number, 4)

    def _piece(self, number: int) -> tuple[int, int]:
        """Return the piece of ``store_pieces`` that a vector belongs to."""
        return next(piece for piece in store_pieces(self.vectors) if number < sum(piece))

    def _load(self, start: Index, first: int, size: int) -> Vector:
        """Load the bytes of neighbouring vectors, of which at least one is real."""
        start = start + (self.first_vector + first) * self.lanes
        count = self.channels - first * self.lanes
        return load_filled(self.tensor, start, count, size * self.lanes)

    def _dwords(self, data: Vector, number: int) -> Vector:
        """Widen one of four vectors by a byte shuffle within 128 bits, which fills with zeros."""
        lanes, is_signed = self.lanes, self.tensor.dtype == "int8"
        zeros = T.broadcast(getattr(T, str(self.tensor.dtype))(0), 4 * lanes)
        # The byte goes to the upper end of its lane, from where a shift extends its sign.
        place = 3 if is_signed else 0
        indices = [
            16 * (lane // 4) + 4 * number + lane % 4 if byte_of == place else 4 * lanes
            for lane in range(lanes)
            for byte_of in range(4)
        ]
        dwords = T.reinterpret(f"int32x{lanes}", T.Shuffle([data, zeros], indices))
        if not is_signed:
            return dwords
        return T.shift_right(dwords, T.broadcast(T.int32(24), lanes))
