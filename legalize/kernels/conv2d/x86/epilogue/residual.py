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
from typing import NamedTuple

import numpy as np
from tvm.script.ir_builder import tirx as T

from legalize.kernels.conv2d.spec import OutputStage, Residual
from legalize.kernels.conv2d.x86.store import moved, narrow, narrow_words
from legalize.kernels.ir.tables import Table
from legalize.kernels.ir.vectors import (
    Array,
    Vector,
    as_unsigned,
    clamped,
    flipped,
    kept,
    lanes_in,
    splat,
)
from legalize.kernels.isa.base import AffineForm, FloatForm, PairForm, rounded
from legalize.kernels.isa.x86 import Isa
from legalize.kernels.isa.x86_instructions import to_int32
from legalize.kernels.isa.x86_vectors import AVX2, AVX512_VNNI, AVX512BW, SSE41, X86Vectors
from qnn_ops.dialect.attributes import dtype_range


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
_LONG_FACTOR = 1 << 22  # its upper part takes more than 16 bits


class Numbers(NamedTuple):
    """The numbers of a sum of integers, as rows of a table: layers with other numbers share code.

    Each number is an int32, or a vector of int32.

    Attributes:
        lhs: the factor of the convolution's outputs.
        rhs: the factor of the tensor.
        lower: the lower parts of both factors, as in ``PairForm``.
        upper: their upper parts.
        addend: the addend of products of values.
        addend_of_steps: the addend of products of steps from the lowest values.
        shift: to the right.
        zero: the limit of the correction.
        below: the correction.
        zero_point: still to be added to the outputs.
        words: the zero point as two int16.
        words_of_steps: the zero point as two int16, for outputs as steps from the lowest value.
    """

    lhs: Vector
    rhs: Vector
    lower: Vector
    upper: Vector
    addend: Vector
    addend_of_steps: Vector
    shift: Vector
    zero: Vector
    below: Vector
    zero_point: Vector
    words: Vector
    words_of_steps: Vector


@dataclass(frozen=True)
class ResidualSum:
    """The sums of a convolution's outputs and a tensor.

    Attributes:
        output: the convolution's output stage.
        residual: the tensor, and the sums.
        isa: the instruction set.
        zero_point: still to be added to the outputs.
        numbers: the numbers of the sums as vectors, if the function reads them from a table.
    """

    output: OutputStage
    residual: Residual
    isa: Isa
    zero_point: int
    numbers: Numbers | None = None

    @property
    def form(self) -> AffineForm:
        """The sum as integers."""
        assert isinstance(self.residual.form, AffineForm)
        return self.residual.form

    @property
    def rows(self) -> Array:
        """The numbers of the sums, one register each: int32 [numbers, lanes]."""
        form, pairs = self.form, self._vectors.pair_form(self.form)
        own, other = self._lowest
        numbers = Numbers(
            form.lhs,
            form.rhs,
            pairs.lower,
            pairs.upper,
            form.addend,
            form.addend + form.lhs * own + form.rhs * other,
            form.shift,
            form.zero,
            form.below,
            self.zero_point,
            *(_twice(each) for each in (self.zero_point, self.zero_point - own)),
        )
        return np.repeat(np.array(numbers, np.int32)[:, None], self.isa.lanes, axis=1)

    def reading(self, rows: Table) -> ResidualSum:
        """Return the sum that keeps a table's numbers in registers from here on."""
        lanes = T.ramp(0, 1, self.isa.lanes)
        numbers = Numbers(*(kept(rows[number, lanes]) for number in range(len(Numbers._fields))))
        return replace(self, numbers=numbers)

    @property
    def alike(self) -> ResidualSum:
        """The representative of all sums with the same code and other numbers."""
        pairs = self._vectors.pair_form(self.form)
        factor = 1 if pairs.shifts_values or not self._vectors.has_word_sums else _LONG_FACTOR
        form = AffineForm(factor, 1, 0, 1, below=int(pairs.corrects))
        stages = (
            replace(stage, zero_point=min(stage.zero_point, stage.low + 1))
            for stage in (self.output, self.residual.output)
        )
        output, stored = stages
        residual = replace(self.residual, form=form, output=stored)
        own, _ = self._lowest
        adds = self.zero_point not in (0, own)
        return replace(
            self, output=output, residual=residual, zero_point=1 if adds else self.zero_point
        )

    @property
    def _lowest(self) -> list[int]:
        """The lowest values of the dtypes of the outputs and of the tensor."""
        return [dtype_range(dtype)[0] for dtype in (self.output.dtype, self.residual.dtype)]

    @property
    def _known(self) -> Numbers:
        assert self.numbers is not None
        return self.numbers

    def _pairs(self, addend: Vector) -> PairForm:
        """Return the sum of pairs of values or steps."""
        known, how = self._known, self._vectors.pair_form(self.form)
        return replace(
            how,
            lower=known.lower,
            upper=known.upper,
            addend=addend,
            shift=known.shift,
            zero=known.zero,
            below=known.below,
        )

    @property
    def _vectors(self) -> X86Vectors:
        if self.isa.lanes < 16:
            return AVX2 if self.isa.lanes == 8 else SSE41
        return AVX512_VNNI if self.isa.has_byte_products else AVX512BW

    def vectors_as_bytes(self, nr: int, channels: int) -> int:
        """Count the first vectors of a block that end in ``add_to_bytes``.

        Args:
            nr: vectors of channels in the block.
            channels: number of real channels.
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
        isa, stored = self._vectors, self.residual.output
        # Bytes count from the lowest values of the dtypes.
        form = self._pairs(self._known.addend_of_steps)
        operands = self._bytes(vectors), as_unsigned(tensor, self.residual.dtype)
        pairs = isa.pairs_of_bytes(*operands)
        sums = isa.narrow_all([rounded(form, isa.affine_of_pairs(form, each)) for each in pairs])
        first, _ = dtype_range(stored.dtype)
        sums = clamped(sums, stored.low - first, stored.high - first)
        if stored.dtype == "uint8":
            return sums
        return T.reinterpret(f"int8x{lanes_in(sums)}", flipped(sums))

    def _bytes(self, vectors: list[Vector]) -> Vector:
        """Return outputs as steps from the lowest value, if possible without another addition."""
        output, words = self.output, None
        if self.zero_point:
            lowest, _ = self._lowest
            low, high = output.low - lowest, output.high - lowest
            output = replace(output, dtype="uint8", low=low, high=high)
            if self.zero_point != lowest:
                words = self._words(self._known.words_of_steps)
        ((outputs, _, _),) = narrow(output, vectors, 0 if words is None else words)
        return as_unsigned(outputs, output.dtype)

    def vectors_as_words(self, nr: int) -> int:
        """Count the first vectors of a block that end in ``add_to_words``, if not in bytes."""
        return nr // 2 * 2

    def add_to_words(self, pair: Sequence[Vector], tensor: Vector) -> list[Vector]:
        """Build the expressions of the sums of two vectors.

        Args:
            pair: int32 vectors, the convolution's outputs before their clamp, less
                ``zero_point``.
            tensor: the tensor's values, from ``AddendBlock.words``.

        Returns:
            For each vector the sums before their clamp, int32.
        """
        lanes, form = self.isa.lanes, self._pairs(self._known.addend)
        low, high = (
            splat("int16", bound, 2 * lanes) for bound in (self.output.low, self.output.high)
        )
        first, second = pair
        words = narrow_words(
            first, second, self._words(self._known.words) if self.zero_point else 0
        )
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
        lanes, known = lanes_in(output), self._known
        form = self._pairs(known.addend)

        def splat(value: int) -> Vector:
            return T.broadcast(T.int32(value), lanes)

        whole = moved(output, known.zero_point if self.zero_point else 0)
        clamped = T.max(T.min(whole, splat(self.output.high)), splat(self.output.low))
        if self._vectors.has_word_sums:
            own = T.bitwise_and(clamped, splat(0xFFFF))
            pairs = T.bitwise_or(own, T.shift_left(tensor, splat(16)))
            pairs = kept(self._words(pairs))
            total = kept(self._vectors.affine_of_pairs(form, pairs))
        else:
            total = clamped * known.lhs + known.addend
            total = total + tensor * known.rhs
        scaled = rounded(form, total)
        offset, _ = dtype_range(self.residual.output.dtype)
        return scaled + splat(offset) if offset else scaled

    def _words(self, value: Vector) -> Vector:
        return T.reinterpret(f"int16x{2 * self.isa.lanes}", value)


def _twice(word: int) -> int:
    """Return two int16 side by side, as int32."""
    return int(np.full(2, word, np.int16).view(np.int32)[0])
