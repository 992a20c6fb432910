"""The instruction sets whose dot products the kernels are built from.

All multiply four bytes of data, uint8, with four weights in each int32 lane and add the products:

* vpdpbusd does so in one instruction, with int8 weights.
* Without it the bytes are widened to 16 bits, even and odd ones apart, and vpmaddwd adds pairs of
  products with int16 weights, in two halves. (vpmaddubsw, which multiplies bytes, saturates its
  sums to 16 bits.) Weights of 16 bits hold w − zw for any zero point.
* Or vpmaddubsw multiplies them all the same, with weights cut so that nothing saturates (see
  pairs/weights.py), and vpmaddwd adds its sums two by two; those of two steps at once, where they
  add up exactly in 16 bits (see pairs/fused_steps.py).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from tvm.script.ir_builder import tirx as T

from legalize.kernels.ir.registers import DWORD
from legalize.kernels.isa.x86_instructions import shuffle_bytes


@dataclass(frozen=True)
class Isa:
    """Registers and multiplying instruction of an instruction set.

    Attributes:
        name: Of the instruction set.
        features: What LLVM calls the extensions that it takes.
        lanes: int32 values in a vector register.
        registers: Number of vector registers.
        product: Instructions that multiply and add four bytes a lane.
        spare: Registers beside accumulators and weights that a step needs.
        has_byte_products: Whether there is vpdpbusd.
        takes_words: Whether the data is int16 already.
        pairs_bytes: Whether weights are cut for vpmaddubsw.
        has_tiles: Whether there is tdpbusd, too.
    """

    name: str
    features: tuple[str, ...]
    lanes: int
    registers: int
    product: int
    spare: int
    has_byte_products: bool
    takes_words: bool = False
    pairs_bytes: bool = False
    has_tiles: bool = False

    @property
    def multiplies_bytes(self) -> bool:
        """Whether data and weights are multiplied as bytes."""
        return self.has_byte_products or self.pairs_bytes

    @property
    def weight_dtype(self) -> str:
        """What weights are multiplied as."""
        return "int8" if self.multiplies_bytes else "int16"

    @property
    def parts(self) -> int:
        """Vectors that hold the weights of a step."""
        return 2 if self.widens_data else 1

    @property
    def part_size(self) -> int:
        """Weights in one of these vectors."""
        return self.lanes * (DWORD if self.multiplies_bytes else 2)

    @property
    def widens_data(self) -> bool:
        """Whether data of bytes becomes words in registers."""
        return not (self.multiplies_bytes or self.takes_words)

    def of_words(self) -> Isa:
        """The same instruction set for data that was widened before: two values a step."""
        return replace(self, product=self.product // 2, spare=self.spare - 1, takes_words=True)

    def of_pairs(self) -> Isa:
        """The same instruction set for weights that are cut for vpmaddubsw."""
        return replace(self, product=self.product - 1, pairs_bytes=True)

    def vectors(self, channels: int) -> int:
        """Vectors that hold an int32 for each channel."""
        return -(-channels // self.lanes)

    def load_data(self, buffer: Any, offset: Any) -> list[Any]:
        """Load a step's data for all lanes, as each part takes it."""
        count = 2 if self.takes_words else DWORD
        dword = T.broadcast(T.reinterpret("int32", buffer[T.ramp(offset, 1, count)]), self.lanes)
        if self.takes_words:
            return [T.reinterpret(f"int16x{2 * self.lanes}", dword)]
        if self.multiplies_bytes:
            return [T.reinterpret(f"uint8x{DWORD * self.lanes}", dword)]
        words = 2 * self.lanes
        even = T.bitwise_and(dword, T.broadcast(T.int32(0x00FF00FF), self.lanes))
        odd = T.shift_right(
            T.reinterpret(f"uint16x{words}", dword), T.broadcast(T.uint16(8), words)
        )
        return [T.reinterpret(f"int16x{words}", part) for part in (even, odd)]

    def load_ordered(self, buffer: Any, offset: Any, order: Any) -> Any:
        """Vpshufb: load four of 16 bytes for all lanes, in an order, uint8x4."""
        size = DWORD * self.lanes
        data = T.Shuffle([buffer[T.ramp(offset, 1, 16)]] * (size // 16), list(range(size)))
        places = T.broadcast(T.reinterpret("int32", order), self.lanes)
        return shuffle_bytes(data, T.reinterpret(f"uint8x{size}", places))

    def load_weights(self, buffer: Any, offset: Any) -> Any:
        """Load the weights of one part; int8 that is multiplied as int16 is widened."""
        weights = buffer[T.ramp(offset, 1, self.part_size)]
        if buffer.dtype == self.weight_dtype:
            return weights
        return T.Cast(f"{self.weight_dtype}x{self.part_size}", weights)

    def multiply_add(self, accumulator: Any, data: Any, weights: Any) -> Any:
        """Add the products of one part."""
        result = f"int32x{self.lanes}"
        if self.has_byte_products:
            name = f"llvm.x86.avx512.vpdpbusd.{32 * self.lanes}"
            return T.call_llvm_pure_intrin(result, name, accumulator, data, weights)
        if self.pairs_bytes:
            return self.multiply_add_bytes(accumulator, [data], [weights])
        return accumulator + T.call_llvm_pure_intrin(result, _PAIRS[self.lanes], data, weights)

    def multiply_add_bytes(self, accumulator: Any, data: list[Any], weights: list[Any]) -> Any:
        """Add the products of steps whose sums of two products are first added in 16 bits."""
        words, sums = f"int16x{2 * self.lanes}", None
        for values, factors in zip(data, weights, strict=True):
            part = T.call_llvm_pure_intrin(words, _BYTE_PAIRS[self.lanes], values, factors)
            sums = part if sums is None else sums + part
        ones = T.broadcast(T.int16(1), 2 * self.lanes)
        result = f"int32x{self.lanes}"
        return accumulator + T.call_llvm_pure_intrin(result, _PAIRS[self.lanes], sums, ones)


_PAIRS = {
    4: "llvm.x86.sse2.pmadd.wd",
    8: "llvm.x86.avx2.pmadd.wd",
    16: "llvm.x86.avx512.pmaddw.d.512",
}

_BYTE_PAIRS = {
    4: "llvm.x86.ssse3.pmadd.ub.sw.128",
    8: "llvm.x86.avx2.pmadd.ub.sw",
    16: "llvm.x86.avx512.pmaddubs.w.512",
}

AVX512_VNNI = Isa(
    name="avx512-vnni",
    features=("avx512vnni", "avx512bw"),
    lanes=16,
    registers=32,
    product=1,
    spare=1,
    has_byte_products=True,
)
AMX = replace(AVX512_VNNI, name="amx", features=("amx-int8", *AVX512_VNNI.features), has_tiles=True)
"""What multiplies convolutions in tiles where that pays, and all else as AVX512-VNNI does."""
AVX_VNNI = Isa(
    name="avx-vnni",
    features=("avxvnni", "avx2"),
    lanes=8,
    registers=16,
    product=1,
    spare=1,
    has_byte_products=True,
)
AVX512BW = Isa(
    name="avx512bw",
    features=("avx512bw",),
    lanes=16,
    registers=32,
    product=4,
    spare=3,
    has_byte_products=False,
)
AVX2 = Isa(
    name="avx2",
    features=("avx2",),
    lanes=8,
    registers=16,
    product=4,
    spare=3,
    has_byte_products=False,
)
SSE41 = Isa(
    name="sse4.1",
    features=("sse4.1",),
    lanes=4,
    registers=16,
    product=6,
    spare=3,
    has_byte_products=False,
)

ISAS = (AVX512_VNNI, AVX_VNNI, AVX512BW, AVX2, SSE41)
"""In order of speed."""
