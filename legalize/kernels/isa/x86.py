"""The instruction sets of x86, whose products the kernels use.

All multiply the data of a K-step, which fills an int32 lane, with as many weights in each lane,
and add the products:

* vpdpbusd does all of this in one instruction, with four bytes of uint8 data and int8 weights.
* Without vpdpbusd the bytes are widened to 16 bits, even and odd ones separately, and vpmaddwd adds
  pairs of products with int16 weights, in two halves. (vpmaddubsw, which multiplies bytes,
  saturates its sums to 16 bits.) Weights of 16 bits hold w − zw for any zero point.
* Or the data is int16 already, two values in a K-step; vpdpwssd multiplies and adds these in one
  instruction.
* Or vpmaddubsw multiplies bytes by weights that are cut so that nothing saturates (see
  conv2d/x86/pairs), and vpmaddwd adds its sums two by two. If 16 bits hold the sums of two K-steps
  together, vpmaddwd adds both at once.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import ClassVar

from tvm.script.ir_builder import tirx as T

from legalize.kernels.ir.vectors import DWORD, Buffer, Index, Vector
from legalize.kernels.isa.x86_instructions import (
    add_pairs,
    add_to_pairs,
    dot_bytes,
    shuffle_bytes,
    sized,
)


@dataclass(frozen=True)
class Isa:
    """Registers of an instruction set.

    Attributes:
        name: the instruction set's name.
        features: LLVM's names of the extensions that it needs.
        lanes: int32 values in a vector register.
        registers: number of vector registers.
        has_byte_products: whether there is vpdpbusd.
        overwrites: whether a product overwrites one of its operands, which costs a move.
    """

    name: str
    features: tuple[str, ...]
    lanes: int
    registers: int
    has_byte_products: bool = False
    overwrites: bool = False

    def vectors(self, channels: int) -> int:
        """Count the vectors that hold an int32 for each channel."""
        return -(-channels // self.lanes)


@dataclass(frozen=True)
class Products(ABC):
    """The instructions that multiply a K-step's data by weights.

    Attributes:
        isa: the instruction set.
    """

    isa: Isa

    weight_dtype: ClassVar[str]
    """The dtype of the multiplied weights."""
    k_step: ClassVar[int] = DWORD
    """The values of a K-step."""
    parts: ClassVar[int] = 1
    """The vectors that hold the weights of a K-step; widened data takes as many."""
    counts: ClassVar[tuple[int, int]]
    """The instructions of a K-step in a vector; more if each overwrites an operand."""
    spare: ClassVar[int]
    """The registers that a K-step needs in addition to accumulators and weights."""
    takes_raw_weights: ClassVar[bool] = False
    """Whether the multiplied weights include their zero point."""

    @property
    def instructions(self) -> int:
        """Instructions that multiply and add a K-step in one vector."""
        return self.counts[self.isa.overwrites]

    @property
    def lanes(self) -> int:
        """The lanes of a vector."""
        return self.isa.lanes

    @property
    def part_size(self) -> int:
        """Weights in one of the vectors of a K-step."""
        return self.lanes * self.k_step // self.parts

    def load_data(self, buffer: Buffer, offset: Index) -> list[Vector]:
        """Load a K-step's data for all lanes, one vector for each part."""
        return [T.reinterpret(f"uint8x{DWORD * self.lanes}", self._dword(buffer, offset))]

    def load_weights(self, buffer: Buffer, offset: Index) -> Vector:
        """Load the weights of one part; int8 is widened if it is multiplied as int16."""
        weights = buffer[T.ramp(offset, 1, self.part_size)]
        if buffer.dtype == self.weight_dtype:
            return weights
        return T.Cast(f"{self.weight_dtype}x{self.part_size}", weights)

    @abstractmethod
    def multiply_add(self, accumulator: Vector, data: Vector, weights: Vector) -> Vector:
        """Add the products of one part."""

    def _dword(self, buffer: Buffer, offset: Index) -> Vector:
        dword = T.reinterpret("int32", buffer[T.ramp(offset, 1, self.k_step)])
        return T.broadcast(dword, self.lanes)


class ByteProducts(Products):
    """Vpdpbusd."""

    weight_dtype = "int8"
    counts = 1, 1
    spare = 1
    takes_raw_weights = True

    def multiply_add(self, accumulator: Vector, data: Vector, weights: Vector) -> Vector:
        """Add products by vpdpbusd."""
        return dot_bytes(accumulator, data, weights, self.lanes)


class WordProducts(Products):
    """Vpmaddwd and a sum, of data that is int16 already."""

    weight_dtype = "int16"
    k_step = 2
    counts = 2, 3
    spare = 2

    def load_data(self, buffer: Buffer, offset: Index) -> list[Vector]:
        """Load two values, widened already."""
        return [T.reinterpret(f"int16x{2 * self.lanes}", self._dword(buffer, offset))]

    def multiply_add(self, accumulator: Vector, data: Vector, weights: Vector) -> Vector:
        """Add products by vpmaddwd."""
        return accumulator + add_pairs(data, weights)


class WordDots(WordProducts):
    """Vpdpwssd, of data that is int16 already; sums are modulo 2^32."""

    counts = 1, 1
    spare = 1

    def multiply_add(self, accumulator: Vector, data: Vector, weights: Vector) -> Vector:
        """Add products by vpdpwssd."""
        return add_to_pairs(accumulator, data, weights)


class WidenedProducts(WordProducts):
    """Vpmaddwd, of bytes that become words in registers: even and odd ones separately."""

    k_step = DWORD
    parts = 2
    counts = 4, 6
    spare = 3

    def load_data(self, buffer: Buffer, offset: Index) -> list[Vector]:
        """Load four bytes: the even ones, and the odd ones."""
        dword, words = self._dword(buffer, offset), 2 * self.lanes
        even = T.bitwise_and(dword, T.broadcast(T.int32(0x00FF00FF), self.lanes))
        odd = T.shift_right(
            T.reinterpret(f"uint16x{words}", dword), T.broadcast(T.uint16(8), words)
        )
        return [T.reinterpret(f"int16x{words}", part) for part in (even, odd)]


class PairProducts(Products):
    """Vpmaddubsw, vpmaddwd and a sum, with weights that are cut for vpmaddubsw."""

    weight_dtype = "int8"
    counts = 3, 5
    spare = 3

    def load_ordered(self, buffer: Buffer, offset: Index, order: Vector) -> Vector:
        """Load four of 16 bytes for all lanes, in a given order, uint8x4 (vpshufb)."""
        size = DWORD * self.lanes
        data = T.Shuffle([buffer[T.ramp(offset, 1, 16)]] * (size // 16), list(range(size)))
        places = T.broadcast(T.reinterpret("int32", order), self.lanes)
        return shuffle_bytes(data, T.reinterpret(f"uint8x{size}", places))

    def multiply_add(self, accumulator: Vector, data: Vector, weights: Vector) -> Vector:
        """Return the products of one K-step."""
        return self.multiply_add_bytes(accumulator, [data], [weights])

    def multiply_add_bytes(
        self, accumulator: Vector, data: list[Vector], weights: list[Vector]
    ) -> Vector:
        """Add the products of K-steps whose sums of two products are first added in 16 bits."""
        sums = None
        for values, factors in zip(data, weights, strict=True):
            part = sized("pmaddubsw", "int16", values, factors)
            sums = part if sums is None else sums + part
        return accumulator + add_pairs(sums, T.broadcast(T.int16(1), 2 * self.lanes))


AVX512_VNNI = Isa("avx512-vnni", ("avx512vnni", "avx512bw"), 16, 32, has_byte_products=True)
AMX = replace(AVX512_VNNI, name="amx", features=("amx-int8", *AVX512_VNNI.features))
"""The instruction set with AMX: convolutions and layers of few bits use tiles if that pays."""
AVX_VNNI = Isa("avx-vnni", ("avxvnni", "avx2"), 8, 16, has_byte_products=True)
AVX512BW = Isa("avx512bw", ("avx512bw",), 16, 32)
AVX2 = Isa("avx2", ("avx2",), 8, 16)
SSE41 = Isa("sse4.1", ("sse4.1",), 4, 16, overwrites=True)

ISAS = (AVX512_VNNI, AVX_VNNI, AVX512BW, AVX2, SSE41)
"""All instruction sets but AMX, the fastest first."""
