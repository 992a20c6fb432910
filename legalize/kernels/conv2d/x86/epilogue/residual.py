"""Adding another quantized tensor to outputs in registers, as integers or floats.

As floats: the output is first rounded to a whole number and clamped. It is then an exact float, so
the sum is ONNX Runtime's own arithmetic, instruction by instruction.

As integers: vectors are first narrowed and paired with the tensor's values, so that one instruction
multiplies both. With AVX512 four vectors become bytes, which also clamps them; of the rest, two
become words. A single last vector stays as it is, or is also paired, if one instruction multiplies
and adds pairs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tvm.script.ir_builder import tirx as T

from legalize.kernels.conv2d.spec import OutputStage, Residual
from legalize.kernels.conv2d.x86.store import moved, narrow, narrow_words
from legalize.kernels.elementwise.add import FloatForm, affine_sums, rounded
from legalize.kernels.ir.rows import load_filled
from legalize.kernels.ir.vectors import (
    Buffer,
    Index,
    Vector,
    as_unsigned,
    clamped,
    flipped,
    kept,
    lanes_in,
    splat,
)
from legalize.kernels.isa.base import AffineForm
from legalize.kernels.isa.x86 import Isa
from legalize.kernels.isa.x86_instructions import to_int32
from legalize.kernels.isa.x86_vectors import AVX2, AVX512_VNNI, AVX512BW, SSE41, X86Vectors
from qnn_ops.attributes import dtype_range


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
        number: which of them.
        lanes: int32 values in a vector.
        channels: how many are real; nothing is read past them.

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
        number: the first one of them: 0 or 2.
        lanes: int32 values in a vector.
        channels: how many are real, at least one; nothing is read past them.
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


@dataclass(frozen=True)
class RoundedSum:
    """The sum, for vectors of AVX512 and AVX2.

    Attributes:
        output: the convolution's output stage.
        form: the sum of its outputs, lhs, and the tensor's values.
    """

    output: OutputStage
    form: FloatForm

    def whole(self, value: Vector) -> Vector:
        """Round scaled sums to outputs, as values of the model, and return the floats' bits."""
        lanes, output = lanes_in(value), self.output
        low, high = (
            splat("float32", float(end - output.zero_point), lanes)
            for end in (output.low, output.high)
        )
        bounded = T.max(T.min(value, high), low)
        name = f"llvm.roundeven.v{lanes}f32"
        rounded = T.call_llvm_pure_intrin(f"float32x{lanes}", name, bounded)
        own = splat("float32", float(output.zero_point - self.form.moved[0]), lanes)
        return T.reinterpret(f"int32x{lanes}", rounded + own)

    def emit(self, output: Vector, tensor: Vector) -> Vector:
        """Build the expression of the sums.

        Args:
            output: from ``whole``.
            tensor: int32 vector, the tensor's values.

        Returns:
            The sums before their clamp, int32.
        """
        lanes = lanes_in(output)
        real = f"float32x{lanes}"
        other = tensor - splat("int32", self.form.moved[1], lanes)
        total = self.form.emit(T.reinterpret(real, output), T.Cast(real, other))
        return to_int32(total) + splat("int32", self.form.moved[2], lanes)


_VECTORS = 4


@dataclass(frozen=True)
class ResidualSum:
    """The sums of a convolution's outputs and a tensor.

    Attributes:
        output: the convolution's output stage.
        residual: the tensor, and the sums.
        isa: the instruction set.
        zero_point: still to be added to the outputs.
    """

    output: OutputStage
    residual: Residual
    isa: Isa
    zero_point: int

    @property
    def form(self) -> AffineForm:
        """The sum as integers."""
        assert isinstance(self.residual.form, AffineForm)
        return self.residual.form

    @property
    def _vectors(self) -> X86Vectors:
        if self.isa.lanes < 16:
            return AVX2 if self.isa.lanes == 8 else SSE41
        return AVX512_VNNI if self.isa.has_byte_products else AVX512BW

    def vectors_as_bytes(self, nr: int, channels: int) -> int:
        """Count the first vectors of a block that end in ``add_to_bytes``.

        Args:
            nr: vectors of channels in the block.
            channels: how many channels are real.
        """
        return min(nr, channels // self.isa.lanes) // _VECTORS * _VECTORS

    def add_to_bytes(self, vectors: list[Vector], tensor: Vector) -> Vector:
        """Build the expression of the sums of four vectors.

        Args:
            vectors: int32, the convolution's outputs before their clamp, less ``zero_point``.
            tensor: the tensor's values, bytes.

        Returns:
            The sums after their clamp, bytes.
        """
        residual, form, stored = self.residual, self.form, self.residual.output
        # Bytes count from the lowest values of the dtypes.
        lowest = [dtype_range(dtype)[0] for dtype in (self.output.dtype, residual.dtype)]
        form = replace(form, addend=form.addend + form.lhs * lowest[0] + form.rhs * lowest[1])
        operands = self._bytes(vectors), as_unsigned(tensor, residual.dtype)
        sums = self._vectors.narrow_all(affine_sums(self._vectors, form, *operands))
        first, _ = dtype_range(stored.dtype)
        sums = clamped(sums, stored.low - first, stored.high - first)
        if stored.dtype == "uint8":
            return sums
        return T.reinterpret(f"int8x{lanes_in(sums)}", flipped(sums))

    def _bytes(self, vectors: list[Vector]) -> Vector:
        """Return outputs as steps from the lowest value, if possible without another addition."""
        output, zero_point = self.output, self.zero_point
        if zero_point:
            lowest, _ = dtype_range(output.dtype)
            low, high = output.low - lowest, output.high - lowest
            output = replace(output, dtype="uint8", low=low, high=high)
            zero_point -= lowest
        ((outputs, _, _),) = narrow(output, vectors, zero_point)
        return as_unsigned(outputs, output.dtype)

    def vectors_as_words(self, nr: int) -> int:
        """Count the first vectors of a block that end in ``add_to_words``, if not in bytes."""
        return nr // 2 * 2

    def add_to_words(self, pair: Sequence[Vector], tensor: Vector) -> list[Vector]:
        """Build the expressions of the sums of two vectors.

        Args:
            pair: int32 vectors, the convolution's outputs before their clamp, less
                ``zero_point``.
            tensor: the tensor's values, from ``load_addend_words``.

        Returns:
            For each vector the sums before their clamp, int32.
        """
        lanes, form = self.isa.lanes, self.form
        low, high = (
            splat("int16", bound, 2 * lanes) for bound in (self.output.low, self.output.high)
        )
        first, second = pair
        words = narrow_words(first, second, self.zero_point)
        words = kept(T.max(T.min(words, high), low))
        offset = splat("int32", dtype_range(self.residual.output.dtype)[0], lanes)
        sums = []
        for both in self._vectors.pairs_of_words(words, kept(tensor)):
            total = kept(self._vectors.affine_of_pairs(form, kept(both)))
            sums.append(rounded(form, total) + offset)
        return sums

    def add(self, output: Vector, tensor: Vector) -> Vector:
        """Build the expression of the sums of one vector.

        Args:
            output: int32 vector, the convolution's outputs before their clamp, less ``zero_point``.
            tensor: int32 vector, the tensor's values.

        Returns:
            The sums before their clamp, int32.
        """
        lanes, form = lanes_in(output), self.form

        def splat(value: int) -> Vector:
            return T.broadcast(T.int32(value), lanes)

        whole = moved(output, self.zero_point)
        clamped = T.max(T.min(whole, splat(self.output.high)), splat(self.output.low))
        if self._vectors.has_word_sums:
            own = T.bitwise_and(clamped, splat(0xFFFF))
            pairs = T.bitwise_or(own, T.shift_left(tensor, splat(16)))
            pairs = kept(T.reinterpret(f"int16x{2 * lanes}", pairs))
            total = kept(self._vectors.affine_of_pairs(form, pairs))
        else:
            total = clamped * splat(form.lhs) + splat(form.addend)
            total = total + tensor * splat(form.rhs)
        scaled = rounded(form, total)
        offset, _ = dtype_range(self.residual.output.dtype)
        return scaled + splat(offset) if offset else scaled
